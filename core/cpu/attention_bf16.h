// Attention on bf16 tensors: the same blocks as attention.h, whose products take the probabilities and their
// gradients rounded to bf16 and sum in f32 (core/cpu/pair_product.h), as the published kernels do on tensor
// cores (Dao et al. 2022). Maxima, exponentials, sums and rescaling are f32.
//
// Arguments are checked by the functions of attention.h.
#pragma once

#include "core/cpu/scratch.h"
#include "core/ops.h"

namespace octant::cpu {

// blocks: of a sequence; packed_floats: a block of one kv head's keys and values, packed.
struct Bf16ForwardSizes {
  int64_t blocks = 0, packed_floats = 0, worker_floats = 0;
};

void attention_forward_bf16(const AttentionForwardArgs& args, int threads, Scratch& scratch);
void attention_backward_bf16(const AttentionBackwardArgs& args, int threads, Scratch& scratch);

}  // namespace octant::cpu
