// Dropout on the residual stream, joined with the residual addition.
//
// The mask of an element depends on (seed, step, layer, site, global element) alone: it is the same in every
// layout, and recomputation needs no saved state. With probability 0, and in evaluation, this is the addition
// alone.
#pragma once

#include "megatron/context.h"
#include "megatron/module.h"

namespace octant {

class ResidualDropout {
 public:
  // `site` tells apart the places of one layer (0…7).
  ResidualDropout(const LayerContext& context, float probability, int64_t layer, int site)
      : context_(context), probability_(probability), layer_(layer), site_(site) {}

  // residual + dropout(x); the result may share x's storage. An undefined residual counts as zero.
  Tensor forward(Tensor x, const Tensor& residual, const MicroBatch& micro_batch) const;
  // Gradient of x from that of the sum; the residual's gradient is dy itself.
  Tensor backward(const Tensor& dy, const MicroBatch& micro_batch) const;

 private:
  Tensor apply(const Tensor& x, const Tensor& residual, Tensor y, const MicroBatch& micro_batch) const;

  const LayerContext& context_;
  float probability_;
  int64_t layer_;
  int site_;
};

// a + b into a's storage.
Tensor add_into(const LayerContext& context, Tensor a, const Tensor& b);

}  // namespace octant
