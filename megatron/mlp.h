// The tensor-parallel feed-forward layer: column-parallel in, activation, row-parallel out (Megatron-LM,
// section 3).
//
// GELU has one input weight; SwiGLU has gate and up, fused as (gate | up) rows of this rank.
#pragma once

#include "megatron/linear.h"

namespace octant {

enum class Activation : uint8_t { kGelu, kSwiglu };

class ParallelMlp : public Module {
 public:
  ParallelMlp(const LayerContext& context, Activation activation, LinearWeights in, LinearWeights out)
      : context_(context),
        activation_(activation),
        in_(context, std::move(in)),
        out_(context, std::move(out)) {}
  Tensor forward(const Tensor& x, const MicroBatch&, Stash&) override;
  Tensor backward_input(const Tensor& dy, const MicroBatch&, Stash&) override;
  void backward_weight(Stash&) override;

 private:
  const LayerContext& context_;
  Activation activation_;
  ColumnParallelLinear in_;
  RowParallelLinear out_;
};

}  // namespace octant
