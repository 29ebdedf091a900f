#include "megatron/norm.h"

namespace octant {

Tensor Norm::forward(const Tensor& x, const MicroBatch&, Stash& stash) {
  const int64_t rows = x.shape()[0];
  Tensor y = context_.activation(x.shape());
  Tensor statistics =
      context_.activation({2, rows}, DType::kF32);  // mean, then reciprocal standard deviation
  context_.ops().norm_forward(context_.stream(), {.rms = beta_ == nullptr,
                                                  .rows = rows,
                                                  .cols = x.shape()[1],
                                                  .dtype = x.dtype(),
                                                  .x = x.data(),
                                                  .gamma = gamma_->value.data(),
                                                  .beta = beta_ ? beta_->value.data() : nullptr,
                                                  .epsilon = epsilon_,
                                                  .y = y.data(),
                                                  .mean = statistics.as<float>(),
                                                  .rstd = statistics.as<float>() + rows});
  stash.push(x);
  stash.push(std::move(statistics));
  return y;
}

Tensor Norm::backward_input(const Tensor& dy, const MicroBatch&, Stash& stash) {
  const Tensor statistics = stash.pop();
  const Tensor x = stash.pop();
  const int64_t rows = x.shape()[0];
  Tensor dx = context_.activation(x.shape());
  const bool accumulate = gamma_->accumulates();
  if (beta_ != nullptr) beta_->accumulates();
  context_.ops().norm_backward(context_.stream(), {.rms = beta_ == nullptr,
                                                   .rows = rows,
                                                   .cols = x.shape()[1],
                                                   .dtype = x.dtype(),
                                                   .x = x.data(),
                                                   .dy = dy.data(),
                                                   .gamma = gamma_->value.data(),
                                                   .mean = statistics.as<float>(),
                                                   .rstd = statistics.as<float>() + rows,
                                                   .dx = dx.data(),
                                                   .dgamma = gamma_->gradient.data(),
                                                   .dbeta = beta_ ? beta_->gradient.data() : nullptr,
                                                   .gradient_dtype = gamma_->gradient.dtype(),
                                                   .accumulate = accumulate});
  return dx;
}

}  // namespace octant
