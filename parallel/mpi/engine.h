// The engine of an mpi rank: it blocks by testing for a bounded time, then by short sleeps that grow while
// nothing moves, so that more ranks than cores still move and a long wait costs little.
#pragma once

#include "parallel/engine.h"
#include "parallel/mpi/notices.h"
#include "parallel/world.h"

namespace octant::mpi {

class MpiEngine final : public Engine {
 public:
  MpiEngine(Notices& notices, Device& device, FlightRecorder& recorder, const WorldOptions& options);
  ~MpiEngine() override { abandon(); }

  bool failed() override;
  // Ends what is under way, in a world that has failed; the buffers stay until this engine ends.
  void give_up() noexcept { abandon(); }

 private:
  void throw_failure() override;
  uint64_t ticket() override { return 0; }
  void block(uint64_t ticket, Clock::time_point idle_since, Clock::time_point deadline) override;
  std::string flights() const override;
  bool keeps_withdrawn() const override { return true; }
  Mailbox& progress_mailbox() override { return progress_mailbox_; }
  Clock::time_point look_again(Clock::time_point idle_since) override;
  void wake_rank() override {}  // it looks by itself

  Notices& notices_;
  const FlightRecorder& flights_;
  Mailbox progress_mailbox_;
  bool crowded_;  // more ranks on this host than cores
};

}  // namespace octant::mpi
