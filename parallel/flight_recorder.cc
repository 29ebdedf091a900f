#include "parallel/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>

namespace octant {

int64_t FlightRecorder::start(std::string_view group, Collective operation, int64_t sequence, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[static_cast<size_t>(count_ % kEntries)];
  entry.group.fill('\0');
  std::copy_n(group.begin(), std::min(group.size(), entry.group.size() - 1), entry.group.begin());
  entry.operation = operation;
  entry.sequence = sequence;
  entry.bytes = bytes;
  entry.started = Clock::now();
  entry.done = false;
  return count_++;
}

void FlightRecorder::finish(int64_t flight) {
  const std::lock_guard lock(mutex_);
  if (flight < count_ - kEntries) return;  // its entry has been reused
  Entry& entry = entries_[static_cast<size_t>(flight % kEntries)];
  entry.finished = Clock::now();
  entry.done = true;
}

std::string FlightRecorder::str(std::string_view indent) const {
  const std::lock_guard lock(mutex_);
  if (count_ == 0) return fmt::format("{}no operation started\n", indent);
  const Clock::time_point now = Clock::now();
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  std::string text;
  for (int64_t flight = std::max<int64_t>(0, count_ - kEntries); flight < count_; ++flight) {
    const Entry& entry = entries_[static_cast<size_t>(flight % kEntries)];
    text += fmt::format("{}{} {} #{}, {} bytes, started {:.3f} s ago, {}\n", indent, entry.group.data(),
                        name_of(entry.operation), entry.sequence, entry.bytes, seconds(now - entry.started),
                        entry.done ? fmt::format("took {:.6f} s", seconds(entry.finished - entry.started))
                                   : std::string("not finished"));
  }
  return text;
}

}  // namespace octant
