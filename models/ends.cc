#include "models/ends.h"

namespace octant {

Tensor EmbeddingModule::forward(const Tensor&, const MicroBatch& micro_batch, Stash& stash) {
  Tensor x = words_.forward(Tensor(), micro_batch, stash);
  if (positions_ != nullptr) {
    context_.ops().position_forward(context_.stream(),
                                    {.rows = x.shape()[0],
                                     .cols = x.shape()[1],
                                     .first_row = context_.first_row(micro_batch.token_count()),
                                     .sequence = micro_batch.sequence_length(),
                                     .dtype = x.dtype(),
                                     .table = positions_->value.data(),
                                     .x = x.data()});
  }
  return dropout_.forward(std::move(x), Tensor(), micro_batch);
}

Tensor EmbeddingModule::backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash& stash) {
  const Tensor dx = dropout_.backward(dy, micro_batch);
  if (positions_ != nullptr) {
    context_.ops().position_backward(context_.stream(),
                                     {.rows = dx.shape()[0],
                                      .cols = dx.shape()[1],
                                      .first_row = context_.first_row(micro_batch.token_count()),
                                      .sequence = micro_batch.sequence_length(),
                                      .dtype = dx.dtype(),
                                      .gradient_dtype = positions_->gradient.dtype(),
                                      .dy = dx.data(),
                                      .dtable = positions_->gradient.data()});
  }
  return words_.backward_input(dx, micro_batch, stash);
}

Tensor HeadModule::forward(const Tensor& x, const MicroBatch& micro_batch, Stash& stash) {
  head_.forward(norm_.forward(x, micro_batch, stash), micro_batch, loss_, stash);
  return Tensor();
}

Tensor HeadModule::backward_input(const Tensor&, const MicroBatch& micro_batch, Stash& stash) {
  const Tensor dx = head_.backward_input(micro_batch, stash);
  return norm_.backward_input(dx, micro_batch, stash);
}

void HeadModule::backward_weight(Stash& stash) {
  head_.backward_weight(stash);
}

Tensor HeadModule::logits(const Tensor& x, const MicroBatch& micro_batch) {
  Stash nothing(/*discard=*/true);
  return head_.logits(norm_.forward(x, micro_batch, nothing));
}

}  // namespace octant
