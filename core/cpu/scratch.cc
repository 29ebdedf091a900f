#include "core/cpu/scratch.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>

#include "core/error.h"

namespace octant::cpu {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kLargePage = int64_t{2} << 20;
constexpr int64_t kLeastMapped = 2 * kLargePage;

int64_t rounded_up(int64_t bytes, int64_t step) {
  return (std::max<int64_t>(bytes, 1) + step - 1) / step * step;
}

// Begins on a large page; null when refused.
void* map_large(int64_t bytes) {
  const int64_t wanted = rounded_up(bytes, kLargePage), mapped = wanted + kLargePage;
  void* const memory = mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::byte* const begin = static_cast<std::byte*>(memory);
  const int64_t before =
      (kLargePage - static_cast<int64_t>(reinterpret_cast<uintptr_t>(begin) % kLargePage)) % kLargePage;
  if (before > 0) munmap(begin, static_cast<size_t>(before));
  munmap(begin + before + wanted, static_cast<size_t>(kLargePage - before));
  // Advice: where it is not taken, small pages serve.
  madvise(begin + before, static_cast<size_t>(wanted), MADV_HUGEPAGE);
  return begin + before;
}

}  // namespace

bool is_mapped(int64_t bytes) {
  return bytes >= kLeastMapped;
}

void* allocate_aligned(int64_t bytes) {
  const bool fits = bytes <= std::numeric_limits<int64_t>::max() / 2;
  void* data = nullptr;
  if (fits) {
    data = is_mapped(bytes)
               ? map_large(bytes)
               : std::aligned_alloc(kAlignment, static_cast<size_t>(rounded_up(bytes, kAlignment)));
  }
  if (data == nullptr) {
    throw MemoryError(
        fmt::format("the system refused {} bytes; use a smaller model, more ranks on other hosts, or a "
                    "device.memory_limit below what this host has",
                    bytes));
  }
  return data;
}

void free_aligned(void* data, int64_t bytes) {
  if (is_mapped(bytes)) {
    munmap(data, static_cast<size_t>(rounded_up(bytes, kLargePage)));
  } else {
    std::free(data);
  }
}

int64_t physical_memory() {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGESIZE)};
}

void Scratch::charge_to(MemoryLedger* ledger) {
  if (ledger_ != nullptr) ledger_->release(MemoryKind::kWorkspace, bytes_);
  if (ledger != nullptr) ledger->charge(MemoryKind::kWorkspace, bytes_);
  ledger_ = ledger;
}

void* Scratch::reserve(int64_t bytes) {
  if (bytes > bytes_ || !data_) {
    MemoryLedger* const ledger = ledger_;
    charge_to(nullptr);
    data_.reset();
    bytes_ = 0;
    ledger_ = ledger;
    if (ledger != nullptr) ledger->charge(MemoryKind::kWorkspace, bytes);
    try {
      data_ = std::unique_ptr<void, FreeAligned>(allocate_aligned(bytes), FreeAligned{bytes});
    } catch (...) {
      if (ledger != nullptr) ledger->release(MemoryKind::kWorkspace, bytes);
      throw;
    }
    bytes_ = bytes;
  }
  return data_.get();
}

}  // namespace octant::cpu
