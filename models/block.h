// One transformer block, pre-norm: x + attention(norm(x)), then + mlp(norm(·)), with dropout before each
// addition.
#pragma once

#include "megatron/attention.h"
#include "megatron/dropout.h"
#include "megatron/mlp.h"
#include "megatron/norm.h"

namespace octant {

class TransformerBlock : public Module {
 public:
  struct Parts {
    Norm attention_norm;
    ParallelAttention attention;
    ResidualDropout attention_dropout;
    Norm mlp_norm;
    ParallelMlp mlp;
    ResidualDropout mlp_dropout;
  };
  TransformerBlock(const LayerContext& context, Parts parts) : context_(context), parts_(std::move(parts)) {}

  Tensor forward(const Tensor& x, const MicroBatch&, Stash&) override;
  Tensor backward_input(const Tensor& dy, const MicroBatch&, Stash&) override;
  void backward_weight(Stash&) override;

 private:
  const LayerContext& context_;
  Parts parts_;
};

}  // namespace octant
