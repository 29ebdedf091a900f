#include "parallel/mpi/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/error.h"

namespace octant::mpi {
namespace {

using std::chrono::microseconds;

// A message that comes soon is met by testing. Each test yields the core: another rank may be waiting for it,
// and where none is it costs next to nothing. On a crowded host the rank goes to sleep sooner.
constexpr microseconds kTesting(200);
constexpr microseconds kTestingWhenCrowded(20);
constexpr microseconds kShortestSleep(20);
constexpr microseconds kLongestSleep(1000);

microseconds nap_after(std::chrono::steady_clock::duration idle) {
  return std::clamp(std::chrono::duration_cast<microseconds>(idle) / 8, kShortestSleep, kLongestSleep);
}

}  // namespace

MpiEngine::MpiEngine(Notices& notices, Device& device, FlightRecorder& recorder, const WorldOptions& options)
    : Engine(device, recorder, options.collective_timeout_seconds),
      notices_(notices),
      flights_(recorder),
      crowded_(launch().local_size > static_cast<int>(std::thread::hardware_concurrency())) {}

bool MpiEngine::failed() {
  notices_.poll();
  return notices_.failed();
}

void MpiEngine::throw_failure() {
  throw PeerFailed(fmt::format("rank {} failed: {}", notices_.failed_rank(), notices_.failure().text));
}

void MpiEngine::block(uint64_t, Clock::time_point idle_since, Clock::time_point deadline) {
  const Clock::time_point now = Clock::now();
  const Clock::duration idle = now - idle_since;
  if (idle < (crowded_ ? kTestingWhenCrowded : kTesting)) {
    std::this_thread::yield();
    return;
  }
  const auto left = std::chrono::duration_cast<microseconds>(deadline - now);
  std::this_thread::sleep_for(std::min(nap_after(idle), std::max(left, kShortestSleep)));
}

// Nothing signals when a message arrives.
Engine::Clock::time_point MpiEngine::look_again(Clock::time_point idle_since) {
  const Clock::time_point now = Clock::now();
  return now + nap_after(now - idle_since);
}

std::string MpiEngine::flights() const {
  return flights_.str("    ");
}

}  // namespace octant::mpi
