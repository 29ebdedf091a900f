// A group of thread ranks, and the meeting points of its operations.
//
// An operation meets in a Slot. Each rank that takes part publishes what it lays open (pointers to its
// buffers) and then reads what the others laid open, in one or two phases: a phase begins when those it reads
// from have published, or when everyone has passed the phase before, and a rank is done when everyone has
// passed the last phase, for until then its buffers are read. Everything in a slot is guarded by its lock;
// the reading itself runs outside of it, counted in `readers`, so that a rank that gives up can wait until
// nobody reads its buffers any more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "parallel/fingerprint.h"
#include "parallel/spin.h"

namespace octant::threads {

class Fabric;

// What one rank lays open. `buffers` points into its operation; `bytes` live in the slot.
struct Contribution {
  bool present = false;
  Fingerprint call;
  const void* const* buffers = nullptr;
  std::string bytes;
};

class Slot {
 public:
  static constexpr int kPhases = 2;

  Slot(std::string group, std::vector<int> world_ranks);

  const std::vector<int>& world_ranks() const { return world_ranks_; }
  int size() const { return static_cast<int>(world_ranks_.size()); }

  // True when this was the last one missing. `strict` compares purposes too.
  bool publish(int place, Contribution contribution, bool strict);

  enum class Step : uint8_t { kWait, kRead, kDone };
  // What a rank that has passed `passed` of `phases` phases may do now: a kRead must be followed by end_read.
  // `source` is the place that it reads from in its first phase, -1 for all. Throws BugError on a mismatch.
  Step begin(int passed, int phases, int source);
  // True when this was the last rank to pass `phase`.
  bool end_read(int phase);

  // Ends a read that threw.
  void leave();

  // Valid between begin and end_read, for the places read from.
  const Contribution& at(int place) const { return contributions_[static_cast<size_t>(place)]; }

  // After it no rank reads from this slot.
  void withdraw() noexcept;
  std::vector<int> missing();

 private:
  std::string group_;
  std::vector<int> world_ranks_;
  SpinLock mutex_;
  std::vector<Contribution> contributions_;
  int published_ = 0;
  int first_ = -1;
  int passed_[kPhases] = {0, 0};
  int readers_ = 0;
  bool withdrawn_ = false;
  std::string mismatch_;
};

class Group {
 public:
  Group(Fabric& fabric, std::string name, std::vector<int> members);

  Fabric& fabric() const { return fabric_; }
  const std::vector<int>& members() const { return members_; }
  const std::string& name() const { return name_; }

  std::shared_ptr<Slot> collective(int64_t sequence);
  // The slot of message number `sequence` with this tag: place 0 sends, place 1 receives.
  std::shared_ptr<Slot> message(int from, int to, int tag, int64_t sequence);

 private:
  using Key = std::tuple<int, int, int, int64_t>;  // from, to, tag, sequence; -1 for collectives
  struct Meeting {
    std::shared_ptr<Slot> slot;
    int joined = 0;
  };
  std::shared_ptr<Slot> join(const Key& key, const std::vector<int>& world_ranks);

  Fabric& fabric_;
  std::string name_;
  std::vector<int> members_;
  SpinLock mutex_;
  std::map<Key, Meeting> meetings_;
};

}  // namespace octant::threads
