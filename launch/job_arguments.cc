#include "launch/job_arguments.h"

#include <CLI/CLI.hpp>

#include "checkpoint/manifest.h"
#include "core/error.h"
#include "job/load.h"
#include "job/validate.h"
#include "launch/checkpoint_argument.h"

namespace octant {
namespace {

LoadedSpec load(const JobArguments& arguments) {
  if (!arguments.job.empty()) return load_spec(arguments.job, arguments.sets);
  if (arguments.checkpoint.empty())
    throw UserError("no job was given; name a job spec, such as examples/quickstart.pbtxt");
  const std::string folder = find_checkpoint(arguments.checkpoint).string();
  LoadedSpec loaded = parse_spec_text(read_manifest(folder).job_spec(), folder + " (its job)");
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
