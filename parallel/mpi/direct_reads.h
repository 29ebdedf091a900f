// Which ranks' memory this rank may read, and the reading: within a host a peer's buffer is copied once, from
// where it lies to where it is wanted, with no message in between.
//
//   DirectReads direct(channels, true);
//   if (direct.possible(peer)) direct.read(peer, to, address, bytes);
//
// Every two ranks of a host prove at the start that each can read a number in the other's memory. Where the
// kernel refuses (process tracing rules, containers), or the ranks are on different hosts, they send messages;
// both of a pair always decide alike.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "parallel/mpi/session.h"

namespace octant::mpi {

class DirectReads {
 public:
  // Below this a message is faster than an offer, a read and an answer.
  static constexpr int64_t kSmallest = 16384;

  // Collective over the job; `wanted` must be the same on every rank.
  DirectReads(const Channels& channels, bool wanted);
  DirectReads(const DirectReads&) = delete;
  DirectReads& operator=(const DirectReads&) = delete;

  bool possible(int world_rank) const { return process_[static_cast<size_t>(world_rank)] > 0; }
  // Throws PeerFailed when the memory cannot be read any more: its process is ending.
  void read(int world_rank, void* to, uint64_t address, int64_t bytes) const;
  // For the start-up table.
  std::string description() const { return description_; }

 private:
  std::vector<pid_t> process_;  // 0: send messages to it
  std::array<uint64_t, 2> proof_{};
  std::string description_;
};

}  // namespace octant::mpi
