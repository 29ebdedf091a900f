#include "launch/job_arguments.h"

#include <CLI/CLI.hpp>

#include "checkpoint/manifest.h"
#include "core/error.h"
#include "job/load.h"
#include "job/validate.h"
#include "launch/checkpoint_argument.h"

namespace octant {
namespace {

// The stored spec is the effective one. Its accumulation follows from the other numbers, and has to follow
// them still when --set changes one of them.
LoadedSpec load_stored(const std::string& folder) {
  LoadedSpec loaded = parse_spec_text(read_manifest(folder).job_spec(), folder + " (its job)");
  if (loaded.message.has_batch()) loaded.message.mutable_batch()->clear_gradient_accumulation_steps();
  return loaded;
}

LoadedSpec load(const JobArguments& arguments) {
  if (arguments.job.empty() && arguments.checkpoint.empty())
    throw UserError("no job was given; name a job spec, such as examples/quickstart.pbtxt");
  const std::string folder =
      arguments.checkpoint.empty() ? std::string() : find_checkpoint(arguments.checkpoint).string();
  LoadedSpec loaded = arguments.job.empty() ? load_stored(folder) : load_spec(arguments.job);
  if (arguments.begins_there && !folder.empty()) {
    apply_override("checkpoint.resume=AUTO", loaded);
    apply_override("checkpoint.resume_from=" + folder, loaded);
  }
  for (const std::string& assignment : arguments.sets) apply_override(assignment, loaded);
  return loaded;
}

}  // namespace

void add_job_file_arguments(CLI::App& verb, JobArguments& arguments) {
  verb.add_option("JOB", arguments.job, "the job spec: JOB.pbtxt, or JOB.json");
  verb.add_option("--set", arguments.sets,
                  "sets a field of the spec, such as parallel.data=4; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

void add_job_arguments(CLI::App& verb, JobArguments& arguments) {
  add_job_file_arguments(verb, arguments);
  verb.add_option("--checkpoint", arguments.checkpoint,
                  "a checkpoint, or the output folder of a run: its newest complete one; holds the job where "
                  "no JOB is given")
      ->type_name("DIR");
}

Job load_job(const JobArguments& arguments, std::optional<int> started_ranks) {
  Validation validation = validate(load(arguments), started_ranks);
  if (!validation.job) throw UserError(format_errors(validation.errors));
  return *std::move(validation.job);
}

}  // namespace octant
