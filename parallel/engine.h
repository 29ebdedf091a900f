// Drives every operation that one rank has under way.
//
// A rank that waits for one operation does its part of all others meanwhile, so ranks may wait in different
// orders without deadlock. Only when nothing of them moves does the rank block, in the way of its transport
// (threads: a condition variable that peers signal; mpi: bounded testing, then short sleeps). Used by its
// rank's thread alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "parallel/flight_recorder.h"
#include "parallel/operation.h"
#include "parallel/transport_times.h"

namespace octant {

class Engine {
 public:
  using Clock = std::chrono::steady_clock;

  // `timeout_seconds` bounds a single wait; 0 = none.
  Engine(FlightRecorder& recorder, double timeout_seconds)
      : recorder_(recorder), timeout_seconds_(timeout_seconds) {}
  virtual ~Engine() = default;

  FlightRecorder& recorder() { return recorder_; }

  // Takes an operation in and drives it once.
  void start(const std::shared_ptr<Operation>& operation, int64_t flight);
  // Returns when it is done; throws its error, another operation's, or PeerFailed.
  void wait(Operation& operation);
  // Waits for everything that is under way.
  void wait_all();
  // Drives everything once.
  void poll();
  // Keeps an error that could not be thrown where it was met; the next call of any kind throws it.
  void remember(std::exception_ptr error);
  // Throws a remembered error, if there is one.
  void rethrow_remembered();

  const TransportTimes& times() const { return times_; }
  // Null: nobody looks on.
  void observe(TransportObserver* observer) { observer_ = observer; }
  size_t under_way() const { return operations_.size(); }

  // True once any rank of the world has failed.
  virtual bool failed() = 0;

 protected:
  // Gives up every operation under way. Derived destructors call it first.
  void abandon() noexcept;
  // "rank 3 failed: …", with the failure's own code where the ranks shall end with it.
  [[noreturn]] virtual void throw_failure() = 0;
  // What `block` compares with: taken before driving, so that a signal in between is not lost.
  virtual uint64_t ticket() = 0;
  // Blocks until something may have changed since `ticket`, at most until `deadline`. `idle_since` is when
  // things stopped moving.
  virtual void block(uint64_t ticket, Clock::time_point idle_since, Clock::time_point deadline) = 0;
  // The flight recorders that this rank can see.
  virtual std::string flights() const = 0;
  // Operations that may still be written to after `withdraw` are kept until the engine ends.
  virtual bool keeps_withdrawn() const { return false; }

 private:
  bool drive();
  [[noreturn]] void time_out(const Operation& operation);

  FlightRecorder& recorder_;
  double timeout_seconds_;
  TransportTimes times_;
  TransportObserver* observer_ = nullptr;
  std::vector<std::shared_ptr<Operation>> operations_;
  std::vector<std::shared_ptr<Operation>> withdrawn_;
  std::exception_ptr remembered_;
};

}  // namespace octant
