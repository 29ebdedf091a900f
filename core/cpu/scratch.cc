#include "core/cpu/scratch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"

namespace octant::cpu {
namespace {

constexpr int64_t kAlignment = 64;

}  // namespace

void* allocate_aligned(int64_t bytes) {
  const int64_t rounded = (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, static_cast<size_t>(rounded));
  if (data == nullptr) {
    throw MemoryError(
        fmt::format("the system refused {} bytes; use a smaller model, more ranks on other hosts, or a "
                    "device.memory_limit below what this host has",
                    rounded));
  }
  return data;
}

void free_aligned(void* data) {
  std::free(data);
}

void Scratch::Free::operator()(void* data) const {
  free_aligned(data);
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
      data_.reset(allocate_aligned(bytes));
    } catch (...) {
      if (ledger != nullptr) ledger->release(MemoryKind::kWorkspace, bytes);
      throw;
    }
    bytes_ = bytes;
  }
  return data_.get();
}

}  // namespace octant::cpu
