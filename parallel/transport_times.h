// Where a rank's time in its transport went, and who may look on.
#pragma once

#include <chrono>

namespace octant {

// Seconds since the world began that the rank's own thread spent in its transport. Together they are the
// communication that compute did not hide.
struct TransportTimes {
  double waited = 0;  // for peers
  double moved = 0;   // reading, summing and copying what peers laid open
  double exposed() const { return waited + moved; }
};

// Sees each wait and each move while it is set (World::observe). Called on the rank's thread; must not throw.
class TransportObserver {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~TransportObserver() = default;
  virtual void waited(Clock::time_point begin, Clock::time_point end) = 0;
  virtual void moved(Clock::time_point begin, Clock::time_point end) = 0;
};

}  // namespace octant
