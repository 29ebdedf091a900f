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
  // The activation is made again in the backward, in the pass over `hidden` that it takes anyway.
  stash.push(hidden);
  return out_.project(active);
}

Tensor ParallelMlp::backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash& stash) {
  RowParallelLinear::OutputGradient output;
  Tensor dactive = out_.input_gradient(dy, output);
  const Tensor hidden = stash.pop();
  const int64_t rows = hidden.shape()[0], width = hidden.shape()[1];
  const Tensor active = context_.activation(dactive.shape());
  Tensor dhidden;
  if (activation_ == Activation::kGelu) {
    dhidden = dactive;
    context_.ops().gelu_backward(context_.stream(), {.n = hidden.elements(),
                                                     .dtype = hidden.dtype(),
                                                     .x = hidden.data(),
                                                     .dy = dactive.data(),
                                                     .out = dhidden.data(),
                                                     .y = active.data()});
  } else {
    dhidden = context_.activation(hidden.shape());
    context_.ops().swiglu_backward(context_.stream(), {.rows = rows,
                                                       .ffn = width / 2,
                                                       .dtype = hidden.dtype(),
                                                       .gate_up = hidden.data(),
                                                       .dy = dactive.data(),
                                                       .out = dhidden.data(),
                                                       .y = active.data()});
  }
  dactive.reset();
  if (stash.weights_now()) {
    out_.weight_gradient(output, active);
  } else {
    stash.defer(output.whole);
    stash.defer(output.rows);
    stash.defer(active);
  }
  return in_.backward_input(dhidden, micro_batch, stash);
}

void ParallelMlp::backward_weight(Stash& stash) {
  out_.backward_weight(stash);
  in_.backward_weight(stash);
}

}  // namespace octant
