#include "megatron/vocabulary.h"

#include <algorithm>

#include "megatron/gradients.h"
#include "megatron/matrix.h"
#include "megatron/token_rows.h"

namespace octant {
namespace {

constexpr int64_t kStrideStep = 64;
// Of a row: this rank's largest logit, sum and target, and the largest of all ranks.
constexpr int64_t kStatistics = 4;

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
  clear_if_fresh(context_, *table_);
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

VocabParallelHead::Chunks VocabParallelHead::chunks_of(int64_t rows) const {
  Chunks chunks;
  // Rows that begin on a cache line: products of operands that do not are up to a third slower.
  chunks.stride = (table_->local_shape()[0] + kStrideStep - 1) / kStrideStep * kStrideStep;
  const int64_t most = std::max<int64_t>(1, context_.largest_logits / (chunks.stride * size_of(DType::kF32)));
  const int64_t count = std::max<int64_t>(1, (rows + most - 1) / most);
  chunks.rows = (rows + count - 1) / count;
  return chunks;
}

// What a chunk's token rows [begin, begin + rows) need: logits, and the loss of them on the way.
CrossEntropyArgs VocabParallelHead::chunk_loss(const Tensor& x, const MicroBatch& micro_batch, int64_t begin,
                                               const Matrix& logits, const Tensor& statistics,
                                               const Tensor& loss) const {
  const int64_t rows = logits.rows;
  Backend& ops = context_.ops();
  ops.matmul(context_.stream(), {.a = as_matrix(x.narrow(begin, rows)),
                                 .b = as_matrix(table_->value),
                                 .c = logits,
                                 .transpose_b = true});
  const bool is_cut = context_.tensor_size() > 1;
  const Tensor local_max = statistics.flat(0, rows), sums = statistics.flat(rows, 2 * rows);
  const Tensor max = is_cut ? statistics.flat(3 * rows, rows) : local_max;
  const CrossEntropyArgs args = {.rows = rows,
                                 .valid = table_->box_size()[0],
                                 .cols = logits.cols,
                                 .ld = logits.ld,
                                 .first_id = first_id(context_, *table_),
                                 .logits = static_cast<const float*>(logits.data),
                                 .targets = micro_batch.targets.as<int32_t>() + begin,
                                 .mask = micro_batch.mask.as<uint8_t>() + begin,
                                 .local_max = local_max.as<float>(),
                                 .max = max.as<float>(),
                                 .sum = sums.as<float>(),
                                 .target = sums.as<float>() + rows,
                                 .loss = loss.as<double>()};
  ops.cross_entropy_statistics(context_.stream(), args);
  if (is_cut) {
    ops.copy(context_.stream(), max.data(), local_max.data(), max.bytes());
    context_.tensor->all_reduce(std::span(&max, 1), ReduceOp::kMax, {.purpose = "activations"}).wait();
    ops.cross_entropy_rescale(context_.stream(), args);
    context_.tensor->all_reduce(sums, {.purpose = "activations"}).wait();
  }
  ops.cross_entropy_loss(context_.stream(), args);
  return args;
}

void VocabParallelHead::loss(const Tensor& x, const MicroBatch& micro_batch, const Tensor& loss) const {
  const Tensor whole = gather_rows(context_, x).take();
  const int64_t total = whole.shape()[0], cols = table_->local_shape()[0];
  const Chunks chunks = chunks_of(total);
  const Tensor memory = context_.activation({chunks.rows, chunks.stride}, DType::kF32);
  const Tensor statistics = context_.activation({kStatistics, chunks.rows}, DType::kF32);
  for (int64_t begin = 0; begin < total; begin += chunks.rows) {
    const int64_t rows = std::min(chunks.rows, total - begin);
    const Matrix logits{memory.data(), DType::kF32, rows, cols, chunks.stride};
    chunk_loss(whole, micro_batch, begin, logits, statistics, loss);
  }
}

Tensor VocabParallelHead::loss_and_gradients(const Tensor& x, const MicroBatch& micro_batch,
                                             const Tensor& loss) const {
  const Tensor whole = gather_rows(context_, x).take();
  const int64_t total = whole.shape()[0], width = whole.shape()[1], cols = table_->local_shape()[0];
  const Chunks chunks = chunks_of(total);
  const Tensor memory = context_.activation({chunks.rows, chunks.stride}, DType::kF32);
  const Tensor statistics = context_.activation({kStatistics, chunks.rows}, DType::kF32);
  Tensor partial = context_.activation({total, width});
  PendingTensor dx;
  for (int64_t begin = 0; begin < total; begin += chunks.rows) {
    const int64_t rows = std::min(chunks.rows, total - begin);
    const Matrix logits{memory.data(), DType::kF32, rows, cols, chunks.stride};
    CrossEntropyArgs args = chunk_loss(whole, micro_batch, begin, logits, statistics, loss);
    // The gradient overwrites the logits, row for row, in its own type.
    const DType dtype = context_.compute;
    const Matrix dlogits{memory.data(), dtype, rows, cols,
                         chunks.stride * size_of(DType::kF32) / size_of(dtype)};
    args.scale = context_.loss_seed;
    args.dlogits = dlogits.data;
    args.dlogits_ld = dlogits.ld;
    args.dlogits_dtype = dtype;
    context_.ops().cross_entropy_backward(context_.stream(), args);
    context_.ops().matmul(
        context_.stream(),
        {.a = dlogits, .b = as_matrix(table_->value), .c = as_matrix(partial.narrow(begin, rows))});
    // The sum over the tensor axis starts under the last chunk's weight gradient.
    if (begin + rows == total) dx = sum_rows(context_, std::move(partial));
    context_.ops().matmul(context_.stream(), {.a = dlogits,
                                              .b = as_matrix(whole.narrow(begin, rows)),
                                              .c = as_matrix(table_->gradient),
                                              .transpose_a = true,
                                              .accumulate = table_->accumulates()});
  }
  return dx.take();
}

Tensor VocabParallelHead::logits(const Tensor& x) const {
  Tensor logits = context_.activation({x.shape()[0], table_->local_shape()[0]}, DType::kF32);
  context_.ops().matmul(
      context_.stream(),
      {.a = as_matrix(x), .b = as_matrix(table_->value), .c = as_matrix(logits), .transpose_b = true});
  return logits;
}

}  // namespace octant
