// How a product is cut into products of blocks before the library multiplies them. Measured
// (docs/performance.md); no cut goes through the inner dimension, so an element's sum stays one sum.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops.h"

namespace octant::cpu {

// For a team of threads: a block for each, as large as the others'; empty where the library's own cut is as
// good, which it is in f32, or better, as it shares small products more evenly.
std::vector<MatmulArgs> cut_for_team(const MatmulArgs& args, int threads);

// For one call of the library: the whole, or two halves, one after the other.
std::vector<MatmulArgs> cut_for_cache(const MatmulArgs& args);

}  // namespace octant::cpu
