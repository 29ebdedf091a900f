// A layer with an explicit forward and the two halves of its backward. There is no autograd tape: the order
// of work is known before the run.
//
// All ranks of the tensor group must call alike: the collectives are inside. A call may return before its
// results are complete on the device's stream, never before they are ordered on it. Inputs are not changed
// unless a module says so; outputs may share storage with inputs. Weight gradients accumulate into
// Parameter::gradient, which must be bound (zero/) in the backward.
#pragma once

#include "core/micro_batch.h"
#include "megatron/stash.h"

namespace octant {

class Module {
 public:
  virtual ~Module() = default;
  // x and the result are token rows: (M, width).
  virtual Tensor forward(const Tensor& x, const MicroBatch& micro_batch, Stash& stash) = 0;
  // Gradient of the input from that of the output. With stash.weights_now() the weight gradients are complete
  // too.
  virtual Tensor backward_input(const Tensor& dy, const MicroBatch& micro_batch, Stash& stash) = 0;
  // The weight gradients, from what backward_input deferred. Only with WeightGradients::kLater.
  virtual void backward_weight(Stash& stash) = 0;
};

}  // namespace octant
