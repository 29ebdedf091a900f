// Normal random numbers on the CPU. Arguments: core/ops.h; called by the CPU backend.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

void normal_fill(const NormalFillArgs& args, int threads);

}  // namespace octant::cpu
