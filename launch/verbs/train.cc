#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>

#include "core/error.h"
#include "launch/job_world.h"
#include "launch/signals.h"
#include "launch/verbs.h"
#include "train/trainer.h"

namespace octant {
namespace {

// How a stopped run ends. On a process that mpirun told nothing, another rank's process had the signal.
int report_stop(const TrainResult& result, int signal, Streams& streams) {
  const int number = signal == 0 ? SIGTERM : signal;
  if (is_first_process()) {
    streams.out.flush();
    streams.err << fmt::format("octant: stopped by signal {} ({}) after step {}; {}", number,
                               strsignal(number), result.steps,
                               result.checkpointed
                                   ? "a checkpoint is saved, and the same command goes on from it"
                                   : "nothing is saved, since checkpoint.interval is 0")
                << std::endl;
  }
  return result.checkpointed ? static_cast<int>(ExitCode::kPreempted) : 128 + number;
}

int run_train(const JobArguments& arguments, Streams& streams) {
  const std::atomic<int>& stop = catch_stop_signals();
  std::optional<TrainResult> result;
  const int code = run_job(arguments, streams, [&](World& world, const Job& job) {
    const bool first = world.rank() == 0;
    const TrainOptions options{.out = first ? &streams.out : nullptr,
                               .interactive = first && streams.interactive,
                               .stop = &stop,
                               .profile_steps = arguments.profile_steps};
    const TrainResult mine = train(world, job, options);
    // Equal on every rank; of the ranks of a process one may write it.
    if (first || world.transport() != "threads") result = mine;
  });
  if (code != 0 || !result || !result->stopped) return code;
  return report_stop(*result, stop.load(), streams);
}

}  // namespace

void add_train(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand(
      "train", "trains a job: in this process with threads as ranks, or under mpirun with its processes");
  auto arguments = std::make_shared<JobArguments>();
  add_job_arguments(*verb, *arguments);
  arguments->begins_there = true;
  verb->add_option("--profile", arguments->profile_steps,
                   "keeps accounts of N steps, after two that warm up: profile.txt and profile.trace.json "
                   "(chrome://tracing, Perfetto) in output_dir")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  verb->get_option("--checkpoint")
      ->description("begins at this checkpoint, or a run's newest; holds the job where no JOB is given");
  verb->callback([arguments, &chosen] {
    chosen = [arguments](Streams& streams) { return run_train(*arguments, streams); };
  });
}

}  // namespace octant
