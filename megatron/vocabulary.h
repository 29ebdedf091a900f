// The two ends of the vocabulary: a table whose rows are cut over the tensor axis, and a cross-entropy that
// never gathers the logits (Megatron-LM, section 3).
//
// The table has a logical number of rows; the run pads it to a multiple of the tensor size. Padding rows
// never take part: they hold zeros, no id maps to them, and they are left out of the softmax.
#pragma once

#include "megatron/context.h"
#include "megatron/module.h"
#include "megatron/parameter.h"

namespace octant {

// tokens (B,T) → (M, C), or this rank's token rows of it. `table`: (V, C) cut on dim 0.
class VocabParallelEmbedding : public Module {
 public:
  VocabParallelEmbedding(const LayerContext& context, Parameter* table) : context_(context), table_(table) {}
  // `x` is ignored: the input is micro_batch.tokens.
  Tensor forward(const Tensor& x, const MicroBatch& micro_batch, Stash&) override;
  // Returns an undefined tensor: ids have no gradient.
  Tensor backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash&) override;
  void backward_weight(Stash&) override {}

 private:
  const LayerContext& context_;
  Parameter* table_;
};

// Projects (M, C) onto the vocabulary and takes the masked cross-entropy with micro_batch.targets, a chunk of
// token rows after another: (M, V) logits never exist, at most context.largest_logits bytes of them.
class VocabParallelHead {
 public:
  // `table`: (V, C) cut on dim 0, often the embedding's own.
  VocabParallelHead(const LayerContext& context, Parameter* table) : context_(context), table_(table) {}

  // Adds the sum of the counted tokens' losses to loss[0] (f64, on the device; the same on every tensor
  // rank).
  void loss(const Tensor& x, const MicroBatch& micro_batch, const Tensor& loss) const;
  // The same, and in the same pass the gradients of context.loss_seed · (summed loss): returns that of x and
  // contributes the table's.
  Tensor loss_and_gradients(const Tensor& x, const MicroBatch& micro_batch, const Tensor& loss) const;

  // f32 logits (M, V) of a tensor group of one, for generation.
  Tensor logits(const Tensor& x) const;

 private:
  struct Chunks {
    int64_t rows = 0;    // of each but the last
    int64_t stride = 0;  // f32 elements between rows of logits
  };
  Chunks chunks_of(int64_t rows) const;
  CrossEntropyArgs chunk_loss(const Tensor& x, const MicroBatch& micro_batch, int64_t begin,
                              const Matrix& logits, const Tensor& statistics, const Tensor& loss) const;

  const LayerContext& context_;
  Parameter* table_;
};

}  // namespace octant
