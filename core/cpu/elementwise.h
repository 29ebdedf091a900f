// Element by element on the CPU: add, cast, and the rank-ordered sums of reductions. Arguments: core/ops.h.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

void add(const AddArgs& args, int threads);
void cast(const CastArgs& args, int threads);
void reduce(const ReduceArgs& args, int threads);

}  // namespace octant::cpu
