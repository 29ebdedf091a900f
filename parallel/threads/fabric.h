// What the ranks of a thread world share: who sleeps, who has failed, who has ended, and the flight
// recorders.
//
// Every rank has a mailbox (parallel/mailbox.h), and another for its progress thread. Whoever changes
// something that a rank may wait for signals both afterwards. A rank watches its mailbox for a short while
// (shorter where ranks share cores) before it sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "parallel/flight_recorder.h"
#include "parallel/mailbox.h"
#include "parallel/world.h"

namespace octant::threads {

class Group;

class Fabric {
 public:
  Fabric(int size, const WorldOptions& options);
  ~Fabric();

  int size() const { return static_cast<int>(ranks_.size()); }
  const WorldOptions& options() const { return options_; }

  void signal(int rank);
  // The rank's own thread alone.
  void wake(int rank) { ranks_[static_cast<size_t>(rank)]->mailbox.signal(); }
  uint64_t ticket(int rank) const { return ranks_[static_cast<size_t>(rank)]->mailbox.ticket(); }
  void block(int rank, uint64_t ticket, std::chrono::steady_clock::time_point deadline);

  // The first failure wins, and one at fault wins over a woken peer. Wakes every rank.
  void fail(int rank, ExitCode code, const std::string& text, bool at_fault);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  WorldResult result() const;

  // The rank's function has returned: it will join nothing any more. Wakes every rank.
  void end(int rank);
  bool ended(int rank) const;

  // Before the rank joins anything.
  void announce_progress_thread(int rank) {
    ranks_[static_cast<size_t>(rank)]->has_progress_thread.store(true);
  }
  Mailbox& progress_mailbox(int rank) { return ranks_[static_cast<size_t>(rank)]->progress_mailbox; }

  FlightRecorder& recorder(int rank) { return ranks_[static_cast<size_t>(rank)]->recorder; }
  std::string flights() const;

  // The group that the members of a split share, made by the first that asks: parent group, its call, color.
  using GroupKey = std::tuple<const Group*, int64_t, int>;
  std::shared_ptr<Group> join_group(const GroupKey& key, const std::string& name,
                                    const std::vector<int>& members);

 private:
  struct Rank {
    Mailbox mailbox, progress_mailbox;
    std::atomic<bool> has_progress_thread = false;
    std::atomic<bool> ended = false;
    FlightRecorder recorder;
  };
  struct Joining {
    std::shared_ptr<Group> group;
    size_t joined = 0;
  };

  WorldOptions options_;
  bool crowded_;  // more ranks than cores
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::atomic<bool> failed_ = false;
  mutable std::mutex mutex_;
  WorldResult failure_;
  bool failure_at_fault_ = false;
  std::map<GroupKey, Joining> joining_;
};

}  // namespace octant::threads
