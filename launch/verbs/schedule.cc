#include "pipeline/schedule.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>

#include "core/error.h"
#include "launch/job_arguments.h"
#include "launch/job_world.h"
#include "launch/verbs.h"

namespace octant {
namespace {

struct ScheduleArguments {
  JobArguments job;
  std::optional<int> stages, micro_batches;
  std::optional<ScheduleKind> kind;
  std::string svg;
};

// The job's schedule where there is a job; what is named beside it goes before it.
Schedule schedule_of(const ScheduleArguments& arguments) {
  ScheduleKind kind = ScheduleKind::kOneFOneB;
  std::optional<int> stages, micro_batches;
  if (!arguments.job.job.empty() || !arguments.job.checkpoint.empty()) {
    const Job job = load_job(arguments.job);
    kind = job.parallel.schedule;
    stages = job.parallel.pipeline;
    micro_batches = static_cast<int>(job.batch.accumulation);
  }
  if (arguments.stages) stages = arguments.stages;
  if (arguments.micro_batches) micro_batches = arguments.micro_batches;
  if (!stages || !micro_batches)
    throw UserError(
        "a schedule needs a job, or both --stages and --micro-batches; such as --stages 4 --micro-batches 8");
  return make_schedule(arguments.kind.value_or(kind), *stages, *micro_batches);
}

void write_svg(const std::string& path, const std::string& drawing) {
  std::ofstream file(path);
  file << drawing;
  file.close();
  if (!file) throw DataError(fmt::format("{}: the drawing cannot be written", path));
}

int run_schedule(const ScheduleArguments& arguments, Streams& streams) {
  refuse_many_processes("schedule");
  const Schedule schedule = schedule_of(arguments);
  const ScheduleReport report = verify(schedule);
  if (!arguments.svg.empty()) write_svg(arguments.svg, to_svg(schedule, report));
  streams.out << to_text(schedule);
  // Lines of the schedule's text that begin with # are comments.
  streams.out << fmt::format("# micro-batches alive at most, by stage: {}\n",
                             fmt::join(report.peak_live_micro_batches, " "))
              << fmt::format("# bubble {:.1f} % of the time, with a backward twice as long as a forward\n",
                             100 * report.bubble)
              << std::flush;
  return 0;
}

}  // namespace

void add_schedule(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb =
      app.add_subcommand("schedule", "prints a pipeline schedule, action by action, and draws its timeline");
  auto arguments = std::make_shared<ScheduleArguments>();
  add_job_arguments(*verb, arguments->job);
  verb->get_option("JOB")->excludes("--checkpoint");
  verb->add_option("--stages", arguments->stages, "pipeline stages")->check(CLI::Range(1, 4096));
  verb->add_option("--micro-batches", arguments->micro_batches, "micro-batches of a step")
      ->check(CLI::Range(1, 1 << 20));
  const std::map<std::string, ScheduleKind> kinds{{"GPIPE", ScheduleKind::kGpipe},
                                                  {"ONE_F_ONE_B", ScheduleKind::kOneFOneB}};
  verb->add_option("--kind", arguments->kind, "GPIPE or ONE_F_ONE_B")
      ->type_name("KIND")
      ->transform(CLI::CheckedTransformer(kinds, CLI::ignore_case).description(""));
  verb->add_option("--svg", arguments->svg, "draws the timeline into this file")->type_name("FILE");
  verb->callback([arguments, &chosen] {
    chosen = [arguments](Streams& streams) { return run_schedule(*arguments, streams); };
  });
}

}  // namespace octant
