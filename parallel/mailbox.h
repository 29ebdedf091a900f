// What a thread sleeps on: a counter that others raise.
//
//   const uint64_t ticket = mailbox.ticket();       // before it looks whether there is anything to do
//   …
//   mailbox.wait(ticket, deadline);                 // returns at once when anyone signalled since
//
// Whoever changes something that the owner may wait for signals afterwards, so no signal is lost. A signal
// takes the mutex only when the owner says that it sleeps. One thread owns a mailbox; any may signal.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace octant {

class Mailbox {
 public:
  using Clock = std::chrono::steady_clock;

  uint64_t ticket() const { return signals_.load(); }
  bool changed(uint64_t ticket) const { return signals_.load() != ticket; }

  // The counter is raised before `asleep_` is read here, and `asleep_` is set before the counter is read in
  // `sleep`, in one order for all (seq_cst): one of the two sees the other.
  void signal() {
    signals_.fetch_add(1);
    if (!asleep_.load()) return;
    { const std::lock_guard lock(mutex_); }
    woken_.notify_one();
  }

  // Until a signal since `ticket`, at most until `deadline`; Clock::time_point::max() = none.
  void wait(uint64_t ticket, Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    asleep_.store(true);
    if (deadline == Clock::time_point::max())
      woken_.wait(lock, [&] { return changed(ticket); });
    else
      woken_.wait_until(lock, deadline, [&] { return changed(ticket); });
    asleep_.store(false);
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  // On a line of its own: its owner watches it.
  alignas(64) std::atomic<uint64_t> signals_ = 0;
  std::atomic<bool> asleep_ = false;
};

}  // namespace octant
