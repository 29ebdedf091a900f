#include "models/ends.h"

#include "megatron/gradients.h"

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
    clear_if_fresh(context_, *positions_);
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
  const Tensor normal = norm_.forward(x, micro_batch, stash);
  if (stash.discard()) {
    head_.loss(normal, micro_batch, loss_);
  } else {
    stash.push(normal);
  }
  return Tensor();
}

Tensor HeadModule::backward_input(const Tensor&, const MicroBatch& micro_batch, Stash& stash) {
  const Tensor dx = head_.loss_and_gradients(stash.pop(), micro_batch, loss_);
  return norm_.backward_input(dx, micro_batch, stash);
}

Tensor HeadModule::logits(const Tensor& x, const MicroBatch& micro_batch) {
  Stash nothing(/*discard=*/true);
  return head_.logits(norm_.forward(x, micro_batch, nothing));
}

}  // namespace octant
