#include "core/tensor.h"

#include <fmt/format.h>

#include "core/error.h"

namespace octant {

Tensor Tensor::narrow(int64_t begin, int64_t count) const {
  if (shape_.dims() == 0 || begin < 0 || count < 0 || begin > shape_[0] || count > shape_[0] - begin) {
    throw BugError(
        fmt::format("{} rows from row {} are not within a tensor of shape {}", count, begin, shape_.str()));
  }
  Shape narrowed = shape_;
  narrowed[0] = count;
  return Tensor(storage_, byte_offset_ + begin * shape_.inner() * size_of(dtype_), narrowed, dtype_);
}

Tensor Tensor::view(const Shape& shape) const {
  if (shape.elements() != elements()) {
    throw BugError(fmt::format("a tensor of shape {} ({} elements) cannot be viewed as {} ({} elements)",
                               shape_.str(), elements(), shape.str(), shape.elements()));
  }
  return Tensor(storage_, byte_offset_, shape, dtype_);
}

Tensor Tensor::flat(int64_t begin, int64_t count) const {
  if (begin < 0 || count < 0 || begin > elements() || count > elements() - begin) {
    throw BugError(
        fmt::format("{} elements from element {} are not within a tensor of shape {} ({} elements)", count,
                    begin, shape_.str(), elements()));
  }
  return Tensor(storage_, byte_offset_ + begin * size_of(dtype_), Shape{count}, dtype_);
}

}  // namespace octant
