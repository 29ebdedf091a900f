// An operation under way on one rank: a state machine that its rank's engine drives (engine.h) and a Work
// hands out (work.h).
//
// It holds Tensors of every buffer that it or a peer touches. It is made and destroyed on its rank's thread,
// and driven there or on the rank's progress thread, by one of them at a time. No call blocks, except
// `withdraw` for the moment in which a peer is still reading.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "core/backend.h"

namespace octant {

class Engine;

// What a thread sums and copies with.
struct Mover {
  Backend& ops;
  Stream stream;
};

class Operation {
 public:
  explicit Operation(Engine& engine) : engine_(engine) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Does what can be done now, with the driving thread's mover; true when anything moved. It must not
  // allocate or free device memory, which is its rank's thread's alone. Throws what is wrong with this
  // operation on every rank (a mismatch).
  virtual bool progress(const Mover& mover) = 0;
  // Gives up, in a world that has failed: when it returns no peer reads the buffers and none will.
  virtual void withdraw() noexcept = 0;
  // Throws PeerFailed when a rank that has not joined never will.
  virtual void check_peers() {}
  // True while it may still find out for itself what a failed peer has failed of.
  virtual bool still_verifying() const { return false; }
  // For the watchdog's report: what it is and who has not arrived.
  virtual std::string waiting_for() const = 0;

  Engine& engine() const { return engine_; }
  // True for good; what it wrote is then there for the thread that asks.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Of an operation that is done.
  const std::exception_ptr& error() const { return error_; }
  void fail(std::exception_ptr error) {
    error_ = std::move(error);
    finish();
  }

 protected:
  // The last thing that `progress` does to it.
  void finish() { done_.store(true, std::memory_order_release); }

 private:
  friend class Engine;
  Engine& engine_;
  int64_t flight_ = -1;
  std::atomic<bool> done_ = false;
  std::atomic<bool> driven_ = false;  // by a thread, just now
  std::exception_ptr error_;
};

}  // namespace octant
