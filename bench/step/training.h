// Whole training steps on synthetic sequences, timed.
//
//   const Measurement run = train(world, job, 3, [&] { rate = matmul_rate(world, dtype); });
//
// Collective over the world, whose device must run on a ProfilingBackend. Blocks until the last step is done.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/profiling_backend.h"
#include "job/job.h"
#include "parallel/world.h"

namespace octant::bench {

struct Measurement {
  std::vector<double> seconds;  // of each step, on the slowest rank
  std::array<ProfilingBackend::Total, ProfilingBackend::kOperations> times =
      {};                  // of rank 0's operations over these steps
  double waited = 0;       // of rank 0 over these steps
  double moved = 0;        // likewise: reading and summing what peers laid open
  double mean_waited = 0;  // over ranks
  double loss = 0;
  double peak_bytes = 0;                             // of the ledger, largest rank's
  std::array<double, kMemoryKinds> kind_peaks = {};  // of the ledger by kind, each the largest rank's
  double resident_bytes = 0;                         // largest process's, at its peak
  double first_step_at = 0;                          // on the steady clock of rank 0
  double start_seconds = 0;                          // from the start of rank 0's process to its first step
};

// Runs `steps` steps after one that is not timed. `ready` is called between the moment when the first step
// could begin and that step, so that what it does counts to neither the start nor the steps.
Measurement train(World& world, const Job& job, int steps, const std::function<void()>& ready);

// Model FLOPs of one training step of the whole job.
double step_flops(const Job& job);

}  // namespace octant::bench
