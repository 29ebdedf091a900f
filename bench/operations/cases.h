// The operations of one GPT-2 124M step (Radford 2019: C 768, H 12, D 64, F 3072, V 50304 padded) on 1024
// tokens, timed one by one.
#pragma once

#include "core/backend.h"

namespace octant::bench {

// What this machine gives at best, measured before the benchmarks.
struct Limits {
  double f32_flops = 0;  // per second, 1024 x 3072 x 768 by the matrix library itself
  double bf16_flops = 0;
  double bytes = 0;  // read plus written per second by a copy far larger than the caches
};

Limits measure_limits(int threads);
// Registers one benchmark an operation and type; `ops` must outlive their run.
void register_cases(Backend& ops, const Limits& limits);

}  // namespace octant::bench
