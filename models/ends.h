// The first and the last unit of a model: ids to the residual stream, the residual stream to the loss.
#pragma once

#include <optional>

#include "megatron/dropout.h"
#include "megatron/norm.h"
#include "megatron/vocabulary.h"

namespace octant {

// Word embedding, learned positions where the family has them, dropout. `x` of forward is ignored.
class EmbeddingModule : public Module {
 public:
  // `positions` (T, C), replicated; null for rotary families.
  EmbeddingModule(const LayerContext& context, Parameter* words, Parameter* positions, float dropout)
      : context_(context),
        words_(context, words),
        positions_(positions),
        dropout_(context, dropout, /*layer=*/-1, /*site=*/0) {}
  Tensor forward(const Tensor& x, const MicroBatch&, Stash&) override;
  Tensor backward_input(const Tensor& dy, const MicroBatch&, Stash&) override;
  void backward_weight(Stash&) override {}

 private:
  const LayerContext& context_;
  VocabParallelEmbedding words_;
  Parameter* positions_;
  ResidualDropout dropout_;
};

// Final norm, projection onto the vocabulary, masked cross-entropy. forward returns an undefined tensor and
// adds to the loss only where no backward will follow (a stash that discards): else backward_input does, since
// the logits live for a chunk of tokens only. `dy` of backward_input is ignored: the gradient starts here,
// from context.loss_seed. For the same reason the weight gradient is never deferred.
class HeadModule : public Module {
 public:
  HeadModule(const LayerContext& context, Norm norm, Parameter* table)
      : norm_(std::move(norm)), head_(context, table) {}
  Tensor forward(const Tensor& x, const MicroBatch&, Stash&) override;
  Tensor backward_input(const Tensor& dy, const MicroBatch&, Stash&) override;
  void backward_weight(Stash&) override {}

  void set_loss(const Tensor& loss) { loss_ = loss; }
  Tensor logits(const Tensor& x, const MicroBatch& micro_batch);

 private:
  Norm norm_;
  VocabParallelHead head_;
  Tensor loss_;
};

}  // namespace octant
