#include "megatron/attention.h"

#include <cmath>

namespace octant {
namespace {

void* at_column(const Tensor& tensor, int64_t column) {
  return static_cast<std::byte*>(tensor.data()) + column * size_of(tensor.dtype());
}

}  // namespace

void ParallelAttention::rotate(const Tensor& qkv, int64_t sequence, bool inverse) const {
  if (!shape_.rotary) return;
  // Query and key heads lie side by side: one call turns them all.
  context_.ops().rotary(context_.stream(), {.rows = qkv.shape()[0],
                                            .sequence = sequence,
                                            .heads = shape_.heads + shape_.kv_heads,
                                            .head_size = shape_.head_size,
                                            .row_stride = qkv.shape()[1],
                                            .dtype = qkv.dtype(),
                                            .base = shape_.rope_base,
                                            .inverse = inverse,
                                            .x = qkv.data()});
}

AttentionForwardArgs ParallelAttention::arguments(const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                                  const MicroBatch& micro_batch) const {
  const int64_t width = qkv.shape()[1];
  const int64_t q_width = shape_.heads * shape_.head_size, kv_width = shape_.kv_heads * shape_.head_size;
  return {.batch = micro_batch.batch_size(),
          .sequence = micro_batch.sequence_length(),
          .heads = shape_.heads,
          .kv_heads = shape_.kv_heads,
          .head_size = shape_.head_size,
          .dtype = qkv.dtype(),
          .scale = 1.0f / std::sqrt(static_cast<float>(shape_.head_size)),
          .q = qkv.data(),
          .k = at_column(qkv, q_width),
          .v = at_column(qkv, q_width + kv_width),
          .q_stride = width,
          .k_stride = width,
          .v_stride = width,
          .out = out.data(),
          .out_stride = q_width,
          .lse = lse.as<float>()};
}

Tensor ParallelAttention::forward(const Tensor& x, const MicroBatch& micro_batch, Stash& stash) {
  const Tensor qkv = qkv_.forward(x, micro_batch, stash);  // (M, (H+2K)·D)
  rotate(qkv, micro_batch.sequence_length(), /*inverse=*/false);
  Tensor out = context_.activation({qkv.shape()[0], shape_.heads * shape_.head_size});
  Tensor lse = context_.activation({micro_batch.batch_size(), shape_.heads, micro_batch.sequence_length()},
                                   DType::kF32);
  context_.ops().attention_forward(context_.stream(), arguments(qkv, out, lse, micro_batch));
  stash.push(qkv);
  stash.push(out);
  stash.push(std::move(lse));
  return output_.forward(out, micro_batch, stash);
}

Tensor ParallelAttention::backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash& stash) {
  const Tensor dout = output_.backward_input(dy, micro_batch, stash);
  const Tensor lse = stash.pop();
  const Tensor out = stash.pop();
  const Tensor qkv = stash.pop();
  Tensor dqkv = context_.activation(qkv.shape());
  const int64_t q_width = shape_.heads * shape_.head_size, kv_width = shape_.kv_heads * shape_.head_size;
  context_.ops().attention_backward(context_.stream(), {.forward = arguments(qkv, out, lse, micro_batch),
                                                        .dout = dout.data(),
                                                        .dq = dqkv.data(),
                                                        .dk = at_column(dqkv, q_width),
                                                        .dv = at_column(dqkv, q_width + kv_width)});
  rotate(dqkv, micro_batch.sequence_length(), /*inverse=*/true);
  return qkv_.backward_input(dqkv, micro_batch, stash);
}

void ParallelAttention::backward_weight(Stash& stash) {
  output_.backward_weight(stash);
  qkv_.backward_weight(stash);
}

}  // namespace octant
