// A training run of one rank, from the data to the last checkpoint: the loop that the `octant train` command
// runs on every rank.
//
//   TrainResult result = train(world, job, {.out = &std::cout, .stop = &signals});
//
// All ranks of the world call it with the same job. Rank 0 locks the output folder, writes metrics.jsonl,
// summary.json and job.pbtxt there and prints to `out`; every rank writes its own log. Risky phases end in an
// agreement (World::agree), so that all ranks leave with the same error. A stop request is agreed at a step's
// end: the run saves, if checkpoints are on, and returns.
#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>

#include "job/job.h"
#include "parallel/world.h"

namespace octant {

struct TrainOptions {
  std::ostream* out = nullptr;             // where rank 0 talks to a person; null = nowhere
  bool interactive = false;                // `out` is a terminal: a progress bar
  const std::atomic<int>* stop = nullptr;  // non-zero: the signal that asks for an end after this step
  // Steps of which to keep accounts (train/profile.h), 0 = none: profile.txt and profile.trace.json. The
  // device must run on a ProfilingBackend.
  int64_t profile_steps = 0;
};

struct TrainResult {
  int64_t steps = 0;           // finished in all, those before a resume included
  bool stopped = false;        // by a stop request, before training.steps
  bool checkpointed = false;   // the last finished step is in a checkpoint
  std::optional<double> loss;  // of the last step
};

TrainResult train(World& world, const Job& job, const TrainOptions& options);

}  // namespace octant
