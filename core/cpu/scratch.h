// Memory that an operation needs while it runs: one block, grown to the largest request and kept, so that a
// training step in its steady state allocates nothing. A request invalidates the one before it. Its size is
// charged to a ledger, where there is one, as kWorkspace.
#pragma once

#include <cstdint>
#include <memory>

#include "core/memory_ledger.h"

namespace octant::cpu {

// 64-byte aligned memory of the host; `bytes` may be zero. Large blocks are virtual memory on large pages,
// where the system gives them: they cost nothing until they are touched. Throws MemoryError when the system
// refuses.
void* allocate_aligned(int64_t bytes);
void free_aligned(void* data, int64_t bytes);  // as allocated

// Whether a block of this size comes straight from the system, which clears it.
bool is_mapped(int64_t bytes);

// Of this host, in bytes.
int64_t physical_memory();

struct FreeAligned {
  int64_t bytes = 0;
  void operator()(void* data) const { free_aligned(data, bytes); }
};

class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { charge_to(nullptr); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Moves the charge from one ledger to another; null = none.
  void charge_to(MemoryLedger* ledger);
  // 64-byte aligned, uninitialised. Throws MemoryError when the system refuses, or past the ledger's budget.
  void* reserve(int64_t bytes);
  float* reserve_floats(int64_t count) {
    return static_cast<float*>(reserve(count * static_cast<int64_t>(sizeof(float))));
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, FreeAligned> data_;
  int64_t bytes_ = 0;
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace octant::cpu
