// Tensors as the matrices that operations take.
#pragma once

#include "core/ops.h"
#include "core/tensor.h"

namespace octant {

inline Matrix as_matrix(const Tensor& tensor, int64_t rows, int64_t cols) {
  return {tensor.data(), tensor.dtype(), rows, cols, cols};
}
inline Matrix as_matrix(const Tensor& tensor) {
  return as_matrix(tensor, tensor.shape()[0], tensor.shape().inner());
}

}  // namespace octant
