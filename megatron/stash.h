// What one micro-batch must remember between its forward and its backward.
//
// Forward pushes, backward pops in reverse order: last in, first out. backward_input hands what the weight
// gradients need to backward_weight through a second queue, first in, first out. With `WeightGradients::kNow`
// (every schedule of today) each linear layer computes its weight gradient inside backward_input, under its
// own communication; with kLater the pipeline calls backward_weight itself.
#pragma once

#include <utility>
#include <vector>

#include "core/tensor.h"

namespace octant {

enum class WeightGradients : uint8_t { kNow, kLater };

class Stash {
 public:
  // With `discard` the forward keeps nothing: activation checkpointing and evaluation.
  explicit Stash(bool discard = false, WeightGradients weights = WeightGradients::kNow)
      : discard_(discard), weights_(weights) {}
  Stash(Stash&&) = default;
  Stash& operator=(Stash&&) = default;

  bool discard() const { return discard_; }
  bool weights_now() const { return weights_ == WeightGradients::kNow; }

  void push(Tensor tensor) {
    if (!discard_) saved_.push_back(std::move(tensor));
  }
  Tensor pop() {
    if (saved_.empty()) throw BugError("a backward asks its stash for more than the forward left there");
    Tensor tensor = std::move(saved_.back());
    saved_.pop_back();
    return tensor;
  }

  void defer(Tensor tensor) { deferred_.push_back(std::move(tensor)); }
  Tensor take() {
    if (next_ == deferred_.size())
      throw BugError("backward_weight asks for more than backward_input deferred");
    Tensor tensor = std::move(deferred_[next_++]);
    if (next_ == deferred_.size()) {
      deferred_.clear();
      next_ = 0;
    }
    return tensor;
  }
  // Appends what another stash deferred (a recomputed forward has a stash of its own).
  void adopt_deferred(Stash& other) {
    for (; other.next_ < other.deferred_.size(); ++other.next_)
      deferred_.push_back(std::move(other.deferred_[other.next_]));
    other.deferred_.clear();
    other.next_ = 0;
  }

  bool empty() const { return saved_.empty() && next_ == deferred_.size(); }
  void clear() {
    saved_.clear();
    deferred_.clear();
    next_ = 0;
  }

 private:
  bool discard_;
  WeightGradients weights_;
  std::vector<Tensor> saved_;
  std::vector<Tensor> deferred_;
  size_t next_ = 0;
};

}  // namespace octant
