// Dropout with a residual on the CPU. Arguments: core/ops.h; called by the CPU backend.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

void dropout(const DropoutArgs& args, int threads);

}  // namespace octant::cpu
