// One number from every rank's. Both are collective over the world.
#pragma once

#include <array>

#include "parallel/world.h"

namespace octant::bench {

inline double summed(World& world, double value) {
  std::array<double, 1> sum = {value};
  world.communicator().all_reduce(sum, ReduceOp::kSum);
  return sum[0];
}

inline double largest(World& world, double value) {
  std::array<double, 1> max = {value};
  world.communicator().all_reduce(max, ReduceOp::kMax);
  return max[0];
}

}  // namespace octant::bench
