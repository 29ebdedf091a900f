#include "megatron/mlp.h"

namespace octant {

Tensor ParallelMlp::forward(const Tensor& x, const MicroBatch& micro_batch, Stash& stash) {
  const Tensor hidden = in_.forward(x, micro_batch, stash);
  const int64_t rows = hidden.shape()[0], width = hidden.shape()[1];
  Tensor active;
  if (activation_ == Activation::kGelu) {
    active = context_.activation(hidden.shape());
    context_.ops().gelu_forward(
        context_.stream(),
        {.n = hidden.elements(), .dtype = hidden.dtype(), .x = hidden.data(), .out = active.data()});
  } else {
    active = context_.activation({rows, width / 2});
    context_.ops().swiglu_forward(context_.stream(), {.rows = rows,
                                                      .ffn = width / 2,
                                                      .dtype = hidden.dtype(),
                                                      .gate_up = hidden.data(),
                                                      .out = active.data()});
  }
  stash.push(hidden);
  return out_.forward(active, micro_batch, stash);
}

Tensor ParallelMlp::backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash& stash) {
  const Tensor dactive = out_.backward_input(dy, micro_batch, stash);
  const Tensor hidden = stash.pop();
  const int64_t rows = hidden.shape()[0], width = hidden.shape()[1];
  Tensor dhidden = context_.activation(hidden.shape());
  if (activation_ == Activation::kGelu) {
    context_.ops().gelu_backward(context_.stream(), {.n = hidden.elements(),
                                                     .dtype = hidden.dtype(),
                                                     .x = hidden.data(),
                                                     .dy = dactive.data(),
                                                     .out = dhidden.data()});
  } else {
    context_.ops().swiglu_backward(context_.stream(), {.rows = rows,
                                                       .ffn = width / 2,
                                                       .dtype = hidden.dtype(),
                                                       .gate_up = hidden.data(),
                                                       .dy = dactive.data(),
                                                       .out = dhidden.data()});
  }
  return in_.backward_input(dhidden, micro_batch, stash);
}

void ParallelMlp::backward_weight(Stash& stash) {
  out_.backward_weight(stash);
  in_.backward_weight(stash);
}

}  // namespace octant
