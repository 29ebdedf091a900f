// AdamW and SGD on a flat range, on the CPU. Arguments: core/ops.h; called by the CPU backend.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

void adamw(const AdamwArgs& args, int threads);
void sgd(const SgdArgs& args, int threads);

}  // namespace octant::cpu
