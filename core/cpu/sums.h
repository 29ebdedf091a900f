// Sums over elements and rows on the CPU. Arguments: core/ops.h; called by the CPU backend.
#pragma once

#include "core/cpu/scratch.h"
#include "core/ops.h"

namespace octant::cpu {

void bias_gradient(const BiasGradientArgs& args, int threads);
void sum_squares(const SumSquaresArgs& args, int threads, Scratch& scratch);

}  // namespace octant::cpu
