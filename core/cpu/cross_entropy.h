// The local pieces of the vocabulary-parallel cross-entropy on the CPU. Arguments: core/ops.h; called by the
// CPU backend.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

void cross_entropy_max(const CrossEntropyArgs& args, int threads);
void cross_entropy_sum(const CrossEntropyArgs& args, int threads);
void cross_entropy_loss(const CrossEntropyArgs& args);
void cross_entropy_backward(const CrossEntropyArgs& args, int threads);

}  // namespace octant::cpu
