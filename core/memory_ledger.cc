#include "core/memory_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace octant {
namespace {

double mebibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

}  // namespace

std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kParameters:
      return "parameters";
    case MemoryKind::kGradients:
      return "gradients";
    case MemoryKind::kMasterWeights:
      return "master_weights";
    case MemoryKind::kOptimizer:
      return "optimizer";
    case MemoryKind::kActivations:
      return "activations";
    case MemoryKind::kCommunication:
      return "communication";
    case MemoryKind::kWorkspace:
      return "workspace";
    case MemoryKind::kData:
      return "data";
  }
  return "?";
}

void MemoryLedger::charge(MemoryKind kind, int64_t bytes) {
  if (bytes < 0)
    throw BugError(fmt::format("the memory ledger was charged {} bytes; charges are not negative", bytes));
  // Compared by subtraction, so that a huge request cannot overflow past the limit.
  if (budget_ > 0 && bytes > budget_ - current_total_) {
    const int64_t room = std::numeric_limits<int64_t>::max() - current_total_;
    throw MemoryError(
        fmt::format("{} bytes ({:.3f} MiB) more for {} would pass device.memory_limit={} bytes ({:.3f} MiB): "
                    "{} bytes are in use, so {} or more would be needed; raise device.memory_limit or make "
                    "the step smaller "
                    "(micro_batch_size, activation "
                    "checkpointing, a higher zero_optimization.stage)\n{}",
                    bytes, mebibytes(bytes), name_of(kind), budget_, mebibytes(budget_), current_total_,
                    current_total_ + std::min(bytes, room), table()));
  }
  const int index = static_cast<int>(kind);
  current_[index] += bytes;
  peak_[index] = std::max(peak_[index], current_[index]);
  current_total_ += bytes;
  peak_total_ = std::max(peak_total_, current_total_);
}

void MemoryLedger::release(MemoryKind kind, int64_t bytes) {
  const int index = static_cast<int>(kind);
  if (bytes < 0 || bytes > current_[index]) {
    throw BugError(fmt::format("{} bytes of {} are released, but {} bytes are in use", bytes, name_of(kind),
                               current_[index]));
  }
  current_[index] -= bytes;
  current_total_ -= bytes;
}

std::string MemoryLedger::table() const {
  std::string text = fmt::format("{:<16}{:>14}{:>14}\n", "memory (MiB)", "current", "peak");
  for (int index = 0; index < kMemoryKinds; ++index) {
    text += fmt::format("{:<16}{:>14.3f}{:>14.3f}\n", name_of(static_cast<MemoryKind>(index)),
                        mebibytes(current_[index]), mebibytes(peak_[index]));
  }
  text +=
      fmt::format("{:<16}{:>14.3f}{:>14.3f}\n", "total", mebibytes(current_total_), mebibytes(peak_total_));
  if (budget_ > 0) text += fmt::format("{:<16}{:>14.3f}\n", "limit", mebibytes(budget_));
  return text;
}

}  // namespace octant
