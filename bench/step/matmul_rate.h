// The limit that a step is set against: what this machine reaches in one matrix product.
#pragma once

#include "core/dtype.h"
#include "parallel/world.h"

namespace octant::bench {

// FLOP/s in the product of a GPT-2 124M layer, (1024, 768) x (3072, 768)^T, by as many ranks at once as the
// machine has cores for. Collective over the world.
double matmul_rate(World& world, DType dtype);

}  // namespace octant::bench
