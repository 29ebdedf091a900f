// What the ranks of a thread world share: who sleeps, who has failed, who has ended, and the flight
// recorders.
//
// Every rank has a mailbox: a counter, and a condition variable to sleep on. Whoever changes something that a
// rank may wait for raises that rank's counter afterwards; a rank reads its counter before it looks at its
// operations, watches it for a short while (shorter where ranks share cores), and then sleeps only while it
// still has that value, so no signal is lost. A signal takes the mutex only when the rank says that it sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "parallel/flight_recorder.h"
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
  uint64_t ticket(int rank);
  void block(int rank, uint64_t ticket, std::chrono::steady_clock::time_point deadline);

  // The first failure wins, and one at fault wins over a woken peer. Wakes every rank.
  void fail(int rank, ExitCode code, const std::string& text, bool at_fault);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  WorldResult result() const;

  // The rank's function has returned: it will join nothing any more. Wakes every rank.
  void end(int rank);
  bool ended(int rank) const;

  FlightRecorder& recorder(int rank) { return ranks_[static_cast<size_t>(rank)]->recorder; }
  std::string flights() const;

  // The group that the members of a split share, made by the first that asks: parent group, its call, color.
  using GroupKey = std::tuple<const Group*, int64_t, int>;
  std::shared_ptr<Group> join_group(const GroupKey& key, const std::string& name,
                                    const std::vector<int>& members);

 private:
  struct Rank {
    std::mutex mutex;
    std::condition_variable changed;
    // On a line of its own: its rank watches it.
    alignas(64) std::atomic<uint64_t> signals = 0;
    std::atomic<bool> asleep = false;
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
