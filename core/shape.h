// A tensor's sizes: up to four dims, held in place so that passing a shape around never allocates.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/error.h"

namespace octant {

class Shape {
 public:
  static constexpr int kMaxDims = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) {
    for (int64_t size : sizes) append(size);
  }

  void append(int64_t size) {
    if (count_ == kMaxDims || size < 0) throw BugError("a shape holds at most four non-negative sizes");
    sizes_[count_++] = size;
  }
  int dims() const { return count_; }
  int64_t operator[](int dim) const { return sizes_[dim]; }
  int64_t& operator[](int dim) { return sizes_[dim]; }
  int64_t elements() const {
    int64_t product = 1;
    for (int dim = 0; dim < count_; ++dim) product *= sizes_[dim];
    return product;
  }
  // Elements of one index of dim 0 (the row length of the flattened rest).
  int64_t inner() const { return count_ == 0 || sizes_[0] == 0 ? 1 : elements() / sizes_[0]; }

  bool operator==(const Shape& other) const {
    if (count_ != other.count_) return false;
    for (int dim = 0; dim < count_; ++dim)
      if (sizes_[dim] != other.sizes_[dim]) return false;
    return true;
  }

  // "257x64"; a scalar prints as "scalar".
  std::string str() const {
    if (count_ == 0) return "scalar";
    std::string text;
    for (int dim = 0; dim < count_; ++dim) {
      if (dim > 0) text += 'x';
      text += std::to_string(sizes_[dim]);
    }
    return text;
  }

 private:
  std::array<int64_t, kMaxDims> sizes_{};
  int count_ = 0;
};

}  // namespace octant
