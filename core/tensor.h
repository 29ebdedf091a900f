// A view of device memory: shared storage, an offset, a shape and a dtype; contiguous, row-major.
//
//   Tensor x = device.allocate({B, T, C}, DType::kF32, MemoryKind::kActivations);
//   Tensor row = x.narrow(1, 2).view({2 * T, C});        // shares x's storage
//
// Copying a Tensor copies the view. The storage goes back to its device when the last view dies, so a Work
// that is under way keeps its buffers alive by holding a Tensor. Storage must die on the thread of its
// device's rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/dtype.h"
#include "core/shape.h"

namespace octant {

// A piece of device memory; its destructor gives the bytes back to the device and the ledger.
class Storage {
 public:
  Storage(void* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_;
  int64_t bytes_;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Storage> storage, int64_t byte_offset, Shape shape, DType dtype)
      : storage_(std::move(storage)), byte_offset_(byte_offset), shape_(shape), dtype_(dtype) {}

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int64_t elements() const { return shape_.elements(); }
  int64_t bytes() const { return elements() * size_of(dtype_); }

  void* data() const { return storage_ ? static_cast<std::byte*>(storage_->data()) + byte_offset_ : nullptr; }
  // The data as T; the dtype's size must be T's, else BugError.
  template <typename T>
  T* as() const {
    if (storage_ && sizeof(T) != static_cast<size_t>(size_of(dtype_)))
      throw BugError("a tensor is read with an element type of another size");
    return static_cast<T*>(data());
  }

  // Rows [begin, begin + count) of dim 0.
  Tensor narrow(int64_t begin, int64_t count) const;
  // The same elements under another shape of equal size.
  Tensor view(const Shape& shape) const;
  // `count` elements from element `begin` of the flattened tensor, as a vector.
  Tensor flat(int64_t begin, int64_t count) const;

  void reset() { *this = Tensor(); }

 private:
  std::shared_ptr<Storage> storage_;
  int64_t byte_offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::kF32;
};

}  // namespace octant
