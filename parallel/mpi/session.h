// This process's MPI library, and the channels of one world in it.
//
// MPI only moves bytes here: no MPI collective is called after a world's start, so no rank can be caught
// inside one when a peer fails. A rank's own thread and its progress thread call MPI, one at a time
// (MPI_THREAD_SERIALIZED): after the start every call holds Channels::library.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>

namespace octant::mpi {

// Initialises MPI on first use; the library is finalised when the process exits.
void start_library();
// Keeps `what` until after MPI_Finalize: a failed world's messages may be read or written by MPI as long as
// it lives.
void keep_until_finalised(std::shared_ptr<void> what);

// Three communicators over all ranks, so that collectives, messages and failure notices cannot meet. Within
// one, a tag says which group, and for collectives which phase of which call: messages of one tag between two
// ranks arrive in order, calls differ in tag.
class Channels {
 public:
  // Collective over the job. There is no freeing: that would be collective too, and MPI_Finalize gives
  // everything back.
  Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  MPI_Comm collectives = MPI_COMM_NULL;
  MPI_Comm messages = MPI_COMM_NULL;
  MPI_Comm notices = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;

  mutable std::mutex library;

  // The number for the next group; every two ranks that share two groups know them by different numbers.
  int64_t next_group = 1;
};

enum class Phase : int { kVerify = 0, kExchange = 1, kGather = 2 };
int collective_tag(int64_t group, Phase phase, int64_t sequence);
int message_tag(int64_t group, int tag);
// Throws BugError when the tags cannot number so many groups.
void check_group_number(int64_t group);

}  // namespace octant::mpi
