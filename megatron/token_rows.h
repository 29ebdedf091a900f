// Moving token rows between the cut residual stream of sequence parallelism and whole matrices.
//
// Each call is collective over the tensor group. Where the tokens are not cut, gather_rows returns its input
// and sum_rows is an all-reduce.
#pragma once

#include "megatron/context.h"

namespace octant {

struct PendingTensor {
  Tensor tensor;
  Work work;
  // The tensor, complete.
  Tensor take() {
    work.wait();
    return tensor;
  }
};

// (M/t, C) on each rank → (M, C) on every rank.
PendingTensor gather_rows(const LayerContext& context, const Tensor& rows);

// (M, C) partial sums on each rank → their sum: (M, C) on every rank, or (M/t, C) each under sequence
// parallelism. Consumes `partial`.
PendingTensor sum_rows(const LayerContext& context, Tensor partial);

}  // namespace octant
