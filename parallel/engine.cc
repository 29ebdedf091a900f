#include "parallel/engine.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "parallel/spin.h"

namespace octant {
namespace {

// A peer that has found a mismatch fails at once; its fingerprint may arrive here a little after the news.
constexpr std::chrono::milliseconds kVerdict(200);

double seconds(Engine::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Engine::Engine(Device& device, FlightRecorder& recorder, double timeout_seconds)
    : mover_{device.ops(), device.compute()}, recorder_(recorder), timeout_seconds_(timeout_seconds) {
  if (device.carrier() != nullptr) carrier_.emplace(*device.carrier(), Stream{0});
}

template <typename F>
bool Engine::while_alone(Operation& operation, F&& f) {
  if (!carrier_) {
    f();
    return true;
  }
  if (operation.driven_.exchange(true)) return false;
  const auto release = [](Operation* driven) { driven->driven_.store(false); };
  const std::unique_ptr<Operation, decltype(release)> alone(&operation, release);
  f();
  return true;
}

std::unique_lock<std::mutex> Engine::lock_if_shared() {
  return carrier_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

bool Engine::drive(Operation& operation, const Mover& mover) {
  if (operation.done()) return false;
  bool moved = false;
  try {
    moved = operation.progress(mover);
  } catch (...) {
    operation.withdraw();
    remember(std::current_exception());
    operation.fail(std::current_exception());
  }
  if (!operation.done()) return moved;
  recorder_.finish(operation.flight_);
  return true;
}

bool Engine::drive_own(Operation* only) {
  if (operations_.empty()) return false;
  const Clock::time_point begin = Clock::now();
  bool moved = false;
  if (only != nullptr) {
    while_alone(*only, [&] { moved = drive(*only, mover_); });
  } else {
    for (size_t i = 0; i < operations_.size(); ++i) moved = drive(*operations_[i], mover_) || moved;
  }
  rethrow_remembered();
  if (!moved) return false;
  reap();
  const Clock::time_point end = Clock::now();
  times_.moved += seconds(end - begin);
  if (observer_ != nullptr) observer_->moved(begin, end);
  return true;
}

void Engine::start(const std::shared_ptr<Operation>& operation, int64_t flight, bool at_once) {
  operation->flight_ = flight;
  {
    const auto lock = lock_if_shared();
    operations_.push_back(operation);
  }
  if (!carrier_) {
    drive_own(nullptr);
    return;
  }
  if (at_once) drive_own(operation.get());
  reap();
  if (operation->done()) return;
  if (!progress_.joinable()) {
    try {
      progress_ = std::jthread([this](const std::stop_token& stop) { run_progress(stop); });
    } catch (const std::system_error& error) {
      throw UserError(
          fmt::format("a progress thread could not be started: {}; device.progress_thread=OFF does without",
                      error.what()));
    }
  }
  progress_mailbox().signal();
}

void Engine::reap() {
  const auto lock = lock_if_shared();
  size_t kept = 0, passed = 0;
  for (size_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = *operations_[i];
    if (operation.done() && !operation.driven_.load(std::memory_order_acquire)) {
      if (operation.error() && keeps_withdrawn()) withdrawn_.push_back(std::move(operations_[i]));
      continue;
    }
    if (i < next_) ++passed;
    if (kept != i) operations_[kept] = std::move(operations_[i]);
    ++kept;
  }
  operations_.resize(kept);
  next_ = passed;
}

void Engine::wait(Operation& operation) {
  rethrow_remembered();
  const auto leave = [](std::atomic<const Operation*>* waited_for) { waited_for->store(nullptr); };
  const std::unique_ptr<std::atomic<const Operation*>, decltype(leave)> waiting(&waited_for_, leave);
  waited_for_.store(&operation);
  Clock::time_point began{};
  Clock::time_point deadline = Clock::time_point::max();
  Clock::time_point idle_since{};
  Clock::time_point waiting_since{};
  Clock::time_point failure_seen{};
  bool idle = false;
  while (!operation.done()) {
    const uint64_t before = ticket();
    const bool moved = drive_own(carrier_ ? &operation : nullptr);
    if (operation.done()) break;
    const Clock::time_point now = Clock::now();
    if (failed()) {
      if (failure_seen == Clock::time_point{}) failure_seen = now;
      bool verifying = true;
      while_alone(operation, [&] { verifying = operation.still_verifying(); });
      if (!verifying || now - failure_seen > kVerdict) throw_failure();
    }
    if (moved) {
      idle = false;
      continue;
    }
    while_alone(operation, [&] { operation.check_peers(); });
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
    times_.waited += seconds(woken - waiting_since);
    if (observer_ != nullptr) observer_->waited(waiting_since, woken);
    waiting_since = woken;
  }
  if (carrier_) {
    // The progress thread is about to let go of it: what it holds shall be free when this returns.
    for (Pause pause(true); operation.driven_.load(std::memory_order_acquire);) pause();
    reap();
  }
  if (operation.error()) std::rethrow_exception(operation.error());
}

void Engine::wait_all() {
  rethrow_remembered();
  while (true) {
    const auto first = std::find_if(operations_.begin(), operations_.end(),
                                    [](const auto& operation) { return !operation->done(); });
    if (first == operations_.end()) return;
    const std::shared_ptr<Operation> operation = *first;
    wait(*operation);
  }
}

void Engine::poll() {
  rethrow_remembered();
  if (carrier_)
    reap();
  else
    drive_own(nullptr);
  if (failed()) throw_failure();
}

void Engine::remember(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!remembered_) remembered_ = std::move(error);
  has_remembered_.store(true, std::memory_order_release);
}

void Engine::rethrow_remembered() {
  if (!has_remembered_.load(std::memory_order_acquire)) return;
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    error = std::exchange(remembered_, nullptr);
    has_remembered_.store(false, std::memory_order_relaxed);
  }
  std::rethrow_exception(error);
}

TransportTimes Engine::times() const {
  TransportTimes times = times_;
  times.hidden = hidden_.load(std::memory_order_relaxed);
  return times;
}

void Engine::observe(TransportObserver* observer) {
  const std::lock_guard lock(mutex_);
  observer_ = observer;
}

void Engine::abandon() noexcept {
  if (progress_.joinable()) {
    progress_.request_stop();
    progress_mailbox().signal();
    progress_.join();
  }
  for (const auto& operation : operations_) {
    if (operation->done()) continue;
    operation->withdraw();
    operation->fail(nullptr);
  }
  withdrawn_.insert(withdrawn_.end(), operations_.begin(), operations_.end());
  operations_.clear();
  if (!keeps_withdrawn()) withdrawn_.clear();
}

void Engine::time_out(Operation& operation) {
  std::string what;
  for (Pause pause(true); !while_alone(operation, [&] { what = operation.waiting_for(); });) pause();
  throw PeerFailed(fmt::format("waited {} s (debug.collective_timeout_seconds) for {}\nlast operations:\n{}",
                               timeout_seconds_, what, flights()));
}

void Engine::run_progress(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "octant-progress");
  Clock::time_point idle_since{};
  bool idle = false;
  while (true) {
    const uint64_t before = progress_mailbox().ticket();
    if (stop.stop_requested()) return;
    bool any = false;
    if (progress_round(any)) {
      idle = false;
      continue;
    }
    if (!idle) idle_since = Clock::now();
    idle = true;
    progress_mailbox().wait(before, any ? look_again(idle_since) : Clock::time_point::max());
  }
}

bool Engine::progress_round(bool& any) {
  {
    const std::lock_guard lock(mutex_);
    next_ = 0;
  }
  bool moved = false;
  while (Operation* const operation = next_to_drive()) {
    any = true;
    const Clock::time_point begin = Clock::now();
    const bool this_moved = drive(*operation, *carrier_);
    // The rank may forget it from here on. One that waits for it, and could not drive it just now, must look
    // again, whatever came of it: either it sees that nobody drives it, or it is seen here to wait (both in
    // one order, seq_cst).
    operation->driven_.store(false);
    if (waited_for_.load() == operation || has_remembered_.load()) wake_rank();
    if (!this_moved) continue;
    moved = true;
    keep_hidden(begin, Clock::now());
  }
  return moved;
}

// The operation that the rank waits for is left to the rank.
Operation* Engine::next_to_drive() {
  const std::lock_guard lock(mutex_);
  while (next_ < operations_.size()) {
    Operation& operation = *operations_[next_++];
    if (operation.done() || waited_for_.load() == &operation) continue;
    if (operation.driven_.exchange(true)) continue;
    return &operation;
  }
  return nullptr;
}

void Engine::keep_hidden(Clock::time_point begin, Clock::time_point end) {
  hidden_.store(hidden_.load(std::memory_order_relaxed) + seconds(end - begin), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (observer_ != nullptr) observer_->hidden(begin, end);
}

}  // namespace octant
