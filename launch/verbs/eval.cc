#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "launch/checkpoint_argument.h"
#include "launch/job_world.h"
#include "launch/verbs.h"
#include "train/evaluation.h"

namespace octant {
namespace {

std::string report_text(const EvaluationReport& report, const std::string& checkpoint) {
  const std::string loss = report.loss ? fmt::format("{:.6f}", *report.loss) : "none (no token counts)";
  return fmt::format("validation loss {} over {} sequences, {} tokens; {}", loss, report.sequences,
                     report.tokens, checkpoint);
}

int run_eval(JobArguments arguments, Streams& streams) {
  return run_job(arguments, streams, [&](World& world, const Job& job) {
    // Without --checkpoint, the newest of the job's own.
    const std::string given = arguments.checkpoint.empty() ? job.checkpoint.dir : arguments.checkpoint;
    std::string folder;
    world.agree("looking for the checkpoint", [&] { folder = find_checkpoint(given).string(); });
    const EvaluationReport report = evaluate_checkpoint(world, job, folder);
    if (world.rank() == 0) streams.out << report_text(report, folder) << std::endl;
  });
}

}  // namespace

void add_eval(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand(
      "eval", "the validation loss of a checkpoint, in the job's layout, whatever layout wrote it");
  auto arguments = std::make_shared<JobArguments>();
  add_job_arguments(*verb, *arguments);
  verb->callback([arguments, &chosen] {
    chosen = [arguments](Streams& streams) { return run_eval(*arguments, streams); };
  });
}

}  // namespace octant
