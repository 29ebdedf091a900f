// Cuts a list of tensors, taken as one flat row of elements, into one piece for each rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/tensor.h"

namespace octant {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t count() const { return end - begin; }
};

inline int64_t total_elements(std::span<const Tensor> tensors) {
  int64_t total = 0;
  for (const Tensor& tensor : tensors) total += tensor.elements();
  return total;
}

// The piece of `part`; pieces are multiples of 16 elements (a cache line of f32) except the last, and late
// ones may be empty.
inline Range piece_of(int64_t total, int parts, int part) {
  const int64_t even = (total + parts - 1) / parts;
  const int64_t length = (even + 15) / 16 * 16;
  const int64_t begin = std::min<int64_t>(total, length * part);
  return {begin, std::min(total, begin + length)};
}

// Calls visit(index, begin, count) for each non-empty part of a tensor that lies in `range`; begin counts
// within the tensor.
template <typename Visit>
void for_each_part(std::span<const Tensor> tensors, Range range, Visit&& visit) {
  int64_t offset = 0;
  for (size_t index = 0; index < tensors.size() && offset < range.end; ++index) {
    const int64_t length = tensors[index].elements();
    const int64_t begin = std::max(range.begin, offset);
    const int64_t end = std::min(range.end, offset + length);
    if (begin < end) visit(index, begin - offset, end - begin);
    offset += length;
  }
}

inline std::byte* element(const void* data, int64_t index, DType dtype) {
  return static_cast<std::byte*>(const_cast<void*>(data)) + index * size_of(dtype);
}

}  // namespace octant
