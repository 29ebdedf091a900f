// LayerNorm or RMSNorm over the rows of the residual stream.
//
// Its small weight gradients are part of backward_input: they come from the same pass over the rows. Under
// sequence parallelism each rank sees its own rows only, so they are partial over the tensor axis.
#pragma once

#include "megatron/context.h"
#include "megatron/module.h"
#include "megatron/parameter.h"

namespace octant {

class Norm : public Module {
 public:
  // beta null: RMSNorm.
  Norm(const LayerContext& context, Parameter* gamma, Parameter* beta, float epsilon)
      : context_(context), gamma_(gamma), beta_(beta), epsilon_(epsilon) {}
  Tensor forward(const Tensor& x, const MicroBatch&, Stash&) override;
  Tensor backward_input(const Tensor& dy, const MicroBatch&, Stash&) override;
  void backward_weight(Stash&) override {}

 private:
  const LayerContext& context_;
  Parameter* gamma_;
  Parameter* beta_;
  float epsilon_;
};

}  // namespace octant
