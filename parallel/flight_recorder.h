// The last operations that one rank started and finished, for the report of a wait that never ends.
//
//   const int64_t flight = recorder.start("data", Collective::kAllReduce, 17, bytes);
//   recorder.finish(flight);
//
// A fixed ring: recording never allocates. Written by its rank's thread; any thread may ask for the text.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "parallel/traffic_ledger.h"

namespace octant {

class FlightRecorder {
 public:
  static constexpr int kEntries = 16;

  // Returns the number to finish it by.
  int64_t start(std::string_view group, Collective operation, int64_t sequence, int64_t bytes);
  void finish(int64_t flight);

  // One line an operation, oldest first, each after `indent`.
  std::string str(std::string_view indent) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::array<char, 16> group{};
    Collective operation = Collective::kBarrier;
    int64_t sequence = 0;
    int64_t bytes = 0;
    Clock::time_point started;
    Clock::time_point finished;
    bool done = false;
  };
  mutable std::mutex mutex_;
  int64_t count_ = 0;
  std::array<Entry, kEntries> entries_;
};

}  // namespace octant
