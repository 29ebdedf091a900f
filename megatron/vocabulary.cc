#include "megatron/vocabulary.h"

#include "megatron/matrix.h"
#include "megatron/token_rows.h"

namespace octant {
namespace {

int64_t first_id(const LayerContext& context, const Parameter& table) {
  return table.local_shape()[0] * context.tensor_rank();
}

}  // namespace

Tensor VocabParallelEmbedding::forward(const Tensor&, const MicroBatch& micro_batch, Stash&) {
  const int64_t rows = micro_batch.token_count(), cols = table_->local_shape()[1];
  Tensor partial = context_.activation({rows, cols});
  context_.ops().embedding_forward(context_.stream(), {.rows = rows,
                                                       .cols = cols,
                                                       .first_id = first_id(context_, *table_),
                                                       .table_rows = table_->box_size()[0],
                                                       .dtype = context_.compute,
                                                       .ids = micro_batch.tokens.as<int32_t>(),
                                                       .table = table_->value.data(),
                                                       .out = partial.data()});
  return sum_rows(context_, std::move(partial)).take();
}

Tensor VocabParallelEmbedding::backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash&) {
  const Tensor whole = gather_rows(context_, dy).take();
  context_.ops().embedding_backward(context_.stream(), {.rows = whole.shape()[0],
                                                        .cols = whole.shape()[1],
                                                        .first_id = first_id(context_, *table_),
                                                        .table_rows = table_->box_size()[0],
                                                        .dtype = whole.dtype(),
                                                        .gradient_dtype = table_->gradient.dtype(),
                                                        .ids = micro_batch.tokens.as<int32_t>(),
                                                        .dy = whole.data(),
                                                        .dtable = table_->gradient.data()});
  return Tensor();
}

Tensor VocabParallelHead::project(const Tensor& whole) const {
  Tensor logits = context_.activation({whole.shape()[0], table_->local_shape()[0]}, DType::kF32);
  context_.ops().matmul(
      context_.stream(),
      {.a = as_matrix(whole), .b = as_matrix(table_->value), .c = as_matrix(logits), .transpose_b = true});
  return logits;
}

CrossEntropyArgs VocabParallelHead::arguments(const Tensor& logits, const Tensor& statistics,
                                              const MicroBatch& micro_batch) const {
  const int64_t rows = logits.shape()[0], cols = logits.shape()[1];
  return {.rows = rows,
          .valid = table_->box_size()[0],
          .cols = cols,
          .ld = cols,
          .first_id = first_id(context_, *table_),
          .logits = logits.as<float>(),
          .targets = micro_batch.targets.as<int32_t>(),
          .mask = micro_batch.mask.as<uint8_t>(),
          .max = statistics.as<float>(),
          .sum = statistics.as<float>() + rows,
          .target = statistics.as<float>() + 2 * rows};
}

void VocabParallelHead::forward(const Tensor& x, const MicroBatch& micro_batch, const Tensor& loss,
                                Stash& stash) {
  const Tensor whole = gather_rows(context_, x).take();
  Tensor logits = project(whole);
  const int64_t rows = logits.shape()[0];
  Tensor statistics = context_.activation({3, rows}, DType::kF32);  // max, sum of exponentials, target logit
  CrossEntropyArgs args = arguments(logits, statistics, micro_batch);
  Backend& ops = context_.ops();
  ops.cross_entropy_max(context_.stream(), args);
  if (context_.tensor_size() > 1) {
    const Tensor max = statistics.flat(0, rows);
    context_.tensor->all_reduce(std::span(&max, 1), ReduceOp::kMax, {.purpose = "activations"}).wait();
  }
  ops.cross_entropy_sum(context_.stream(), args);
  if (context_.tensor_size() > 1)
    context_.tensor->all_reduce(statistics.flat(rows, 2 * rows), {.purpose = "activations"}).wait();
  args.loss = loss.as<double>();
  ops.cross_entropy_loss(context_.stream(), args);
  stash.push(x);
  stash.push(std::move(logits));
  stash.push(std::move(statistics));
}

Tensor VocabParallelHead::backward_input(const MicroBatch& micro_batch, Stash& stash) {
  const Tensor statistics = stash.pop();
  const Tensor logits = stash.pop();
  PendingTensor x = gather_rows(context_, stash.pop());
  // In f32 the gradient overwrites the logits.
  Tensor dlogits = context_.compute == DType::kF32 ? logits : context_.activation(logits.shape());
  CrossEntropyArgs args = arguments(logits, statistics, micro_batch);
  args.scale = context_.loss_seed;
  args.dlogits = dlogits.data();
  args.dlogits_dtype = dlogits.dtype();
  context_.ops().cross_entropy_backward(context_.stream(), args);
  Tensor partial = context_.activation({dlogits.shape()[0], table_->local_shape()[1]});
  context_.ops().matmul(context_.stream(),
                        {.a = as_matrix(dlogits), .b = as_matrix(table_->value), .c = as_matrix(partial)});
  PendingTensor dx = sum_rows(context_, std::move(partial));
  stash.defer(dlogits);
  stash.defer(x.take());
  if (stash.weights_now()) backward_weight(stash);
  return dx.take();
}

void VocabParallelHead::backward_weight(Stash& stash) {
  const Tensor dlogits = stash.take();
  const Tensor x = stash.take();
  context_.ops().matmul(context_.stream(), {.a = as_matrix(dlogits),
                                            .b = as_matrix(x),
                                            .c = as_matrix(table_->gradient),
                                            .transpose_a = true,
                                            .accumulate = true});
}

Tensor VocabParallelHead::logits(const Tensor& x) const {
  return project(x);
}

}  // namespace octant
