// The local pieces of the vocabulary-parallel cross-entropy on the CPU. Arguments: core/ops.h; called by the
// CPU backend.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

// True where the target of `row` is one of this rank's columns.
inline bool holds_target(const CrossEntropyArgs& args, int64_t row) {
  const int64_t local = args.targets[row] - args.first_id;
  return local >= 0 && local < args.valid;
}

void cross_entropy_statistics(const CrossEntropyArgs& args, int threads);
void cross_entropy_rescale(const CrossEntropyArgs& args);
void cross_entropy_loss(const CrossEntropyArgs& args);
void cross_entropy_backward(const CrossEntropyArgs& args, int threads);

}  // namespace octant::cpu
