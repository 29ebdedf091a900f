#include "megatron/dropout.h"

#include "core/math/philox.h"

namespace octant {

Tensor ResidualDropout::apply(const Tensor& x, const Tensor& residual, Tensor y,
                              const MicroBatch& micro_batch) const {
  context_.ops().dropout(context_.stream(),
                         {.rows = x.shape()[0],
                          .cols = x.shape()[1],
                          .first_row = context_.first_row(micro_batch.token_count()),
                          .sequence = micro_batch.sequence_length(),
                          .dtype = x.dtype(),
                          .probability = probability_,
                          .key = dropout_key(context_.seed, micro_batch.step, layer_, site_),
                          .sample_ids = micro_batch.sample_ids.as<int64_t>(),
                          .x = x.data(),
                          .residual = residual.data(),
                          .y = y.data()});
  return y;
}

Tensor ResidualDropout::forward(Tensor x, const Tensor& residual, const MicroBatch& micro_batch) const {
  if (probability_ > 0.0f && micro_batch.training) return apply(x, residual, x, micro_batch);
  return residual.defined() ? add_into(context_, std::move(x), residual) : x;
}

Tensor ResidualDropout::backward(const Tensor& dy, const MicroBatch& micro_batch) const {
  if (probability_ == 0.0f || !micro_batch.training) return dy;
  return apply(dy, Tensor(), context_.activation(dy.shape()), micro_batch);
}

Tensor add_into(const LayerContext& context, Tensor a, const Tensor& b) {
  context.ops().add(context.stream(),
                    {.n = a.elements(), .dtype = a.dtype(), .a = a.data(), .b = b.data(), .out = a.data()});
  return a;
}

}  // namespace octant
