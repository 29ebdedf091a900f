// Memory that an operation needs while it runs: one block, grown to the largest request and kept, so that a
// training step in its steady state allocates nothing. A request invalidates the one before it.
#pragma once

#include <cstdint>
#include <memory>

namespace octant::cpu {

class Scratch {
 public:
  // 64-byte aligned, uninitialised. Throws MemoryError when the system refuses.
  void* reserve(int64_t bytes);
  float* reserve_floats(int64_t count) {
    return static_cast<float*>(reserve(count * static_cast<int64_t>(sizeof(float))));
  }
  int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* data) const;
  };
  std::unique_ptr<void, Free> data_;
  int64_t bytes_ = 0;
};

// 64-byte aligned memory of the host; `bytes` may be zero. Throws MemoryError when the system refuses.
void* allocate_aligned(int64_t bytes);
void free_aligned(void* data);

}  // namespace octant::cpu
