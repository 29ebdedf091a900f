// What bench_step says about a measurement: text for a person, JSON for bench/compare.
#pragma once

#include <string>

#include "bench/step/options.h"
#include "bench/step/training.h"

namespace octant::bench {

struct Machine {
  double matmul_rate = 0;  // FLOP/s
  double load_before = 0, load_after = 0;
};

void print_report(World& world, const Job& job, const Options& options, const Machine& machine,
                  const Measurement& run);

// Throws UserError if the file cannot be written.
void write_report(World& world, const Job& job, const Options& options, const Machine& machine,
                  const Measurement& run);

}  // namespace octant::bench
