// LayerNorm and RMSNorm on the CPU. Arguments: core/ops.h; called by the CPU backend.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

void norm_forward(const NormForwardArgs& args, int threads);
void norm_backward(const NormBackwardArgs& args, int threads);

}  // namespace octant::cpu
