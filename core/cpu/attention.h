// Causal attention with grouped queries on the CPU, block by block with an online softmax (Dao et al. 2022;
// Dao 2023).
//
// Keys and values are never repeated for their group and scores never exist beyond one block of 64 x 64. A
// block holds its queries in the lanes of a vector (scores are kept transposed), so that maxima and sums over
// keys need no sum over lanes. Each (sequence, head) is computed by itself: its bits depend neither on B nor
// on the other heads. Arguments: core/ops.h. What is said here is how f32 and f16 are computed, in f32; bf16
// has products of its own (attention_bf16.h).
#pragma once

#include <string_view>

#include "core/cpu/scratch.h"
#include "core/ops.h"

namespace octant::cpu {

void attention_forward(const AttentionForwardArgs& args, int threads, Scratch& scratch);
void attention_backward(const AttentionBackwardArgs& args, int threads, Scratch& scratch);

// Throws BugError for arguments that neither takes.
void require_attention(const AttentionForwardArgs& args, std::string_view operation);

}  // namespace octant::cpu
