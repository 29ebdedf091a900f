// Short waits without sleeping: what a rank does before it gives its core away for good, and a lock for
// sections of a few instructions, whose waiters would lose far more by going to sleep.
//
//   Pause pause(crowded);
//   while (!ready.load(std::memory_order_acquire)) pause();
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace octant {

// Cores that this process may run on.
int cores_allowed();

// One step of a busy wait. With a core for every rank it mostly stays on the core; crowded, it gives the core
// to another rank at every step, for that one may be who is waited for.
class Pause {
 public:
  explicit Pause(bool crowded) : crowded_(crowded) {}
  void operator()() {
    // Often enough that a peer which the system has put on this very core gets on within a microsecond.
    constexpr uint32_t kStepsBetweenYields = 16;
    if (crowded_ || ++steps_ % kStepsBetweenYields == 0) {
      std::this_thread::yield();
      return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

 private:
  bool crowded_;
  uint32_t steps_ = 0;
};

// Lockable by std::lock_guard.
class SpinLock {
 public:
  void lock() {
    Pause pause(false);
    while (locked_.exchange(true, std::memory_order_acquire))
      while (locked_.load(std::memory_order_relaxed)) pause();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_ = false;
};

}  // namespace octant
