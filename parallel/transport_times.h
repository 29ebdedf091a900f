// Where a rank's time in its transport went, and who may look on.
#pragma once

#include <chrono>

namespace octant {

// Seconds since the world began. What the rank's own thread spent in its transport is the communication that
// compute did not hide; `hidden` is what its progress thread did meanwhile.
struct TransportTimes {
  double waited = 0;  // for peers
  double moved = 0;   // reading, summing and copying what peers laid open
  double hidden = 0;  // moving on the progress thread
  double exposed() const { return waited + moved; }
};

// Sees each wait and each move while it is set (World::observe). `waited` and `moved` are called on the rank's
// thread, `hidden` on its progress thread; they must not throw.
class TransportObserver {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~TransportObserver() = default;
  virtual void waited(Clock::time_point begin, Clock::time_point end) = 0;
  virtual void moved(Clock::time_point begin, Clock::time_point end) = 0;
  virtual void hidden(Clock::time_point begin, Clock::time_point end) = 0;
};

}  // namespace octant
