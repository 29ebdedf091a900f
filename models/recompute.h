// Activation checkpointing (Chen 2016): keeps only the input of a module and runs its forward again in the
// backward, with a stash of its own. Dropout masks depend on counters alone, so the second forward has the
// bits of the first.
#pragma once

#include <memory>

#include "megatron/module.h"

namespace octant {

class Recompute : public Module {
 public:
  explicit Recompute(std::unique_ptr<Module> inner) : inner_(std::move(inner)) {}

  Tensor forward(const Tensor& x, const MicroBatch& micro_batch, Stash& stash) override {
    stash.push(x);
    Stash nothing(/*discard=*/true);
    return inner_->forward(x, micro_batch, nothing);
  }
  Tensor backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash& stash) override {
    Stash again(/*discard=*/false, stash.weights_now() ? WeightGradients::kNow : WeightGradients::kLater);
    inner_->forward(stash.pop(), micro_batch, again);
    Tensor dx = inner_->backward_input(dy, micro_batch, again);
    stash.adopt_deferred(again);
    return dx;
  }
  void backward_weight(Stash& stash) override { inner_->backward_weight(stash); }

 private:
  std::unique_ptr<Module> inner_;
};

}  // namespace octant
