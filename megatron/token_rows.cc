#include "megatron/token_rows.h"

namespace octant {

PendingTensor gather_rows(const LayerContext& context, const Tensor& rows) {
  if (!context.cut_tokens()) return {rows, Work()};
  const int64_t count = rows.elements();
  Tensor whole = context.activation({rows.shape()[0] * context.tensor_size(), rows.shape()[1]}, rows.dtype());
  const AllGatherPiece piece{.source = rows.flat(0, count),
                             .target = whole.flat(0, whole.elements()),
                             .stride = count,
                             .count = count};
  return {whole, context.tensor->all_gather(std::span(&piece, 1), {.purpose = "activations"})};
}

PendingTensor sum_rows(const LayerContext& context, Tensor partial) {
  if (context.tensor_size() == 1) return {std::move(partial), Work()};
  if (!context.cut_tokens()) {
    Work work = context.tensor->all_reduce(partial, {.purpose = "activations"});
    return {std::move(partial), std::move(work)};
  }
  Tensor mine =
      context.activation({partial.shape()[0] / context.tensor_size(), partial.shape()[1]}, partial.dtype());
  const int64_t count = mine.elements();
  const ReduceScatterPiece piece{.source = partial.flat(0, partial.elements()),
                                 .stride = count,
                                 .count = count,
                                 .target = mine.flat(0, count)};
  Work work = context.tensor->reduce_scatter(std::span(&piece, 1), {.purpose = "activations"});
  return {std::move(mine), std::move(work)};
}

}  // namespace octant
