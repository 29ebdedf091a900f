// An operation under way on one rank: a state machine that its rank's engine drives (engine.h) and a Work
// hands out (work.h).
//
// It holds Tensors of every buffer that it or a peer touches, and is made, driven and destroyed on its rank's
// thread. No call blocks, except `withdraw` for the moment in which a peer is still reading.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace octant {

class Engine;

class Operation {
 public:
  explicit Operation(Engine& engine) : engine_(engine) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Does what can be done now; true when anything moved. Throws what is wrong with this operation on every
  // rank (a mismatch).
  virtual bool progress() = 0;
  // Gives up, in a world that has failed: when it returns no peer reads the buffers and none will.
  virtual void withdraw() noexcept = 0;
  // Throws PeerFailed when a rank that has not joined never will.
  virtual void check_peers() {}
  // True while it may still find out for itself what a failed peer has failed of.
  virtual bool still_verifying() const { return false; }
  // For the watchdog's report: what it is and who has not arrived.
  virtual std::string waiting_for() const = 0;

  Engine& engine() const { return engine_; }
  bool done() const { return done_; }
  const std::exception_ptr& error() const { return error_; }
  void fail(std::exception_ptr error) {
    error_ = std::move(error);
    done_ = true;
  }

 protected:
  void finish() { done_ = true; }

 private:
  friend class Engine;
  Engine& engine_;
  int64_t flight_ = -1;
  bool done_ = false;
  std::exception_ptr error_;
};

}  // namespace octant
