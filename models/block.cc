#include "models/block.h"

namespace octant {

Tensor TransformerBlock::forward(const Tensor& x, const MicroBatch& micro_batch, Stash& stash) {
  Parts& p = parts_;
  const Tensor a = p.attention.forward(p.attention_norm.forward(x, micro_batch, stash), micro_batch, stash);
  const Tensor middle = p.attention_dropout.forward(a, x, micro_batch);
  const Tensor m = p.mlp.forward(p.mlp_norm.forward(middle, micro_batch, stash), micro_batch, stash);
  return p.mlp_dropout.forward(m, middle, micro_batch);
}

Tensor TransformerBlock::backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash& stash) {
  Parts& p = parts_;
  const Tensor dm = p.mlp.backward_input(p.mlp_dropout.backward(dy, micro_batch), micro_batch, stash);
  const Tensor dmiddle = add_into(context_, p.mlp_norm.backward_input(dm, micro_batch, stash), dy);
  const Tensor da =
      p.attention.backward_input(p.attention_dropout.backward(dmiddle, micro_batch), micro_batch, stash);
  return add_into(context_, p.attention_norm.backward_input(da, micro_batch, stash), dmiddle);
}

void TransformerBlock::backward_weight(Stash& stash) {
  parts_.mlp.backward_weight(stash);
  parts_.attention.backward_weight(stash);
}

}  // namespace octant
