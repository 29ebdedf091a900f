// Drives every operation that one rank has under way.
//
// A rank that waits for one operation does its part of all others meanwhile, so ranks may wait in different
// orders without deadlock. Only when nothing of them moves does the rank block, in the way of its transport
// (threads: a condition variable that peers signal; mpi: bounded testing, then short sleeps).
//
// Where the device has a carrier (core/device.h), a progress thread drives the operations while the rank
// computes, and the rank's thread drives only the one that it waits for. Each operation is driven by one of
// the two at a time; who does it changes no bit. All calls are the rank's thread's alone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/device.h"
#include "parallel/flight_recorder.h"
#include "parallel/mailbox.h"
#include "parallel/operation.h"
#include "parallel/transport_times.h"

namespace octant {

class Engine {
 public:
  using Clock = std::chrono::steady_clock;

  // `timeout_seconds` bounds a single wait; 0 = none.
  Engine(Device& device, FlightRecorder& recorder, double timeout_seconds);
  virtual ~Engine() = default;

  FlightRecorder& recorder() { return recorder_; }
  // Of the rank's own thread.
  const Mover& mover() const { return mover_; }

  // Takes an operation in. What takes no time, `at_once`, is driven here; the rest too, unless there is a
  // progress thread to leave it to.
  void start(const std::shared_ptr<Operation>& operation, int64_t flight, bool at_once);
  // Returns when it is done; throws its error, another operation's, or PeerFailed.
  void wait(Operation& operation);
  // Waits for everything that is under way.
  void wait_all();
  // Drives everything once, unless there is a progress thread.
  void poll();
  // Keeps an error that could not be thrown where it was met; the next call of any kind throws it.
  void remember(std::exception_ptr error);
  // Throws a remembered error, if there is one.
  void rethrow_remembered();

  TransportTimes times() const;
  // Null: nobody looks on. It is not called any more when this returns.
  void observe(TransportObserver* observer);

  // True once any rank of the world has failed.
  virtual bool failed() = 0;

 protected:
  // Gives up every operation under way and ends the progress thread. Derived destructors call it first.
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

  // What the progress thread sleeps on; peers that signal the rank signal it too.
  virtual Mailbox& progress_mailbox() = 0;
  // When it should look again although nobody signalled; Clock::time_point::max() = never.
  virtual Clock::time_point look_again(Clock::time_point idle_since) = 0;
  // Called on the progress thread: something that the rank may wait for has happened.
  virtual void wake_rank() = 0;

 private:
  // Drives an operation that no other thread drives now; true when it moved. Its error is remembered.
  bool drive(Operation& operation, const Mover& mover);
  // Drives, on the rank's thread, that one or everything; true when anything moved. Throws what went wrong.
  bool drive_own(Operation* only);
  // Runs f while no other thread drives the operation; false when one does.
  template <typename F>
  bool while_alone(Operation& operation, F&& f);
  // Forgets what is done.
  void reap();
  std::unique_lock<std::mutex> lock_if_shared();
  [[noreturn]] void time_out(Operation& operation);

  void run_progress(const std::stop_token& stop);
  // One round over what is under way; `any`: whether there is something to come back for.
  bool progress_round(bool& any);
  Operation* next_to_drive();
  void keep_hidden(Clock::time_point begin, Clock::time_point end);

  Mover mover_;
  std::optional<Mover> carrier_;
  FlightRecorder& recorder_;
  double timeout_seconds_;
  TransportTimes times_;
  std::atomic<double> hidden_ = 0;

  // The rank's thread alone changes the list, with the mutex where the progress thread may look at it.
  std::vector<std::shared_ptr<Operation>> operations_;
  std::vector<std::shared_ptr<Operation>> withdrawn_;
  mutable std::mutex mutex_;  // of the list's form, and of the next three
  size_t next_ = 0;           // the progress thread's place in the list
  std::exception_ptr remembered_;
  TransportObserver* observer_ = nullptr;
  std::atomic<bool> has_remembered_ = false;
  std::atomic<const Operation*> waited_for_ = nullptr;
  std::jthread progress_;
};

}  // namespace octant
