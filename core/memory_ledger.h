// Counts every byte of a device by what it is for, and keeps the device within its budget.
//
// One ledger belongs to one device of one rank and is used by that rank's thread alone. A charge past the
// budget throws MemoryError with `table()` in its message and leaves the ledger unchanged.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace octant {

enum class MemoryKind : uint8_t {
  kParameters,
  kGradients,
  kMasterWeights,
  kOptimizer,
  kActivations,
  kCommunication,  // gathered units of stage 3, gradients on their way to their owner, message buffers
  kWorkspace,
  kData
};
inline constexpr int kMemoryKinds = 8;
std::string_view name_of(MemoryKind kind);

class MemoryLedger {
 public:
  // `budget` in bytes; 0 means no limit.
  explicit MemoryLedger(int64_t budget = 0) : budget_(budget) {}

  void charge(MemoryKind kind, int64_t bytes);
  void release(MemoryKind kind, int64_t bytes);

  int64_t current(MemoryKind kind) const { return current_[static_cast<int>(kind)]; }
  int64_t peak(MemoryKind kind) const { return peak_[static_cast<int>(kind)]; }
  int64_t current_total() const { return current_total_; }
  int64_t peak_total() const { return peak_total_; }
  int64_t budget() const { return budget_; }

  // One line a kind: current and peak, in MiB.
  std::string table() const;

 private:
  int64_t budget_;
  int64_t current_total_ = 0;
  int64_t peak_total_ = 0;
  std::array<int64_t, kMemoryKinds> current_{};
  std::array<int64_t, kMemoryKinds> peak_{};
};

}  // namespace octant
