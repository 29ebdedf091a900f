#include "parallel/engine.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace octant {
namespace {

// A peer that has found a mismatch fails at once; its fingerprint may arrive here a little after the news.
constexpr std::chrono::milliseconds kVerdict(200);

}  // namespace

void Engine::start(const std::shared_ptr<Operation>& operation, int64_t flight) {
  operation->flight_ = flight;
  operations_.push_back(operation);
  drive();
}

bool Engine::drive() {
  if (operations_.empty()) return false;
  const Clock::time_point begin = Clock::now();
  bool moved = false;
  std::exception_ptr error;
  size_t kept = 0;
  for (size_t i = 0; i < operations_.size(); ++i) {
    Operation& operation = *operations_[i];
    try {
      if (operation.progress()) moved = true;
    } catch (...) {
      operation.withdraw();
      operation.fail(std::current_exception());
      if (keeps_withdrawn()) withdrawn_.push_back(operations_[i]);
      if (!error) error = std::current_exception();
    }
    if (operation.done()) {
      moved = true;
      recorder_.finish(operation.flight_);
      continue;
    }
    if (kept != i) operations_[kept] = std::move(operations_[i]);
    ++kept;
  }
  operations_.resize(kept);
  if (error) std::rethrow_exception(error);
  if (moved) {
    const Clock::time_point end = Clock::now();
    times_.moved += std::chrono::duration<double>(end - begin).count();
    if (observer_ != nullptr) observer_->moved(begin, end);
  }
  return moved;
}

void Engine::wait(Operation& operation) {
  rethrow_remembered();
  Clock::time_point began{};
  Clock::time_point deadline = Clock::time_point::max();
  Clock::time_point idle_since{};
  Clock::time_point waiting_since{};
  Clock::time_point failure_seen{};
  bool idle = false;
  while (!operation.done()) {
    const uint64_t before = ticket();
    const bool moved = drive();
    if (operation.done()) break;
    const Clock::time_point now = Clock::now();
    if (failed()) {
      if (failure_seen == Clock::time_point{}) failure_seen = now;
      if (!operation.still_verifying() || now - failure_seen > kVerdict) throw_failure();
    }
    if (moved) {
      idle = false;
      continue;
    }
    operation.check_peers();
    if (began == Clock::time_point{}) {
      began = now;
      if (timeout_seconds_ > 0)
        deadline = now + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(timeout_seconds_));
    }
    if (now >= deadline) time_out(operation);
    if (!idle) idle_since = waiting_since = now;
    idle = true;
    block(before, idle_since, deadline);
    const Clock::time_point woken = Clock::now();
    // What was driven in vain since the last block is waiting too.
    times_.waited += std::chrono::duration<double>(woken - waiting_since).count();
    if (observer_ != nullptr) observer_->waited(waiting_since, woken);
    waiting_since = woken;
  }
  if (operation.error()) std::rethrow_exception(operation.error());
}

void Engine::wait_all() {
  rethrow_remembered();
  while (!operations_.empty()) {
    const std::shared_ptr<Operation> first = operations_.front();
    wait(*first);
  }
}

void Engine::poll() {
  rethrow_remembered();
  drive();
  if (failed()) throw_failure();
}

void Engine::remember(std::exception_ptr error) {
  if (!remembered_) remembered_ = std::move(error);
}

void Engine::rethrow_remembered() {
  if (remembered_) std::rethrow_exception(std::exchange(remembered_, nullptr));
}

void Engine::abandon() noexcept {
  for (const auto& operation : operations_) {
    operation->withdraw();
    operation->fail(nullptr);
  }
  withdrawn_.insert(withdrawn_.end(), operations_.begin(), operations_.end());
  operations_.clear();
  if (!keeps_withdrawn()) withdrawn_.clear();
}

void Engine::time_out(const Operation& operation) {
  throw PeerFailed(fmt::format("waited {} s (debug.collective_timeout_seconds) for {}\nlast operations:\n{}",
                               timeout_seconds_, operation.waiting_for(), flights()));
}

}  // namespace octant
