// The one place of the project with a signal flag.
//
//   const std::atomic<int>& stop = catch_stop_signals();      // from here on SIGINT and SIGTERM only set it
//
// A second signal ends the process at once, with 128 + n. Call once, before any rank runs.
#pragma once

#include <atomic>

namespace octant {

// 0, or the signal that came.
const std::atomic<int>& catch_stop_signals();

}  // namespace octant
