// How each rank of an mpi world learns how every other one ended.
//
// A rank that ends, well or not, tells all others; a receive is posted from the start, so that a waiting rank
// notices a failure whatever it waits for. When all have told, all know the same and end with the same code.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "parallel/failure.h"
#include "parallel/mpi/session.h"
#include "parallel/world.h"

namespace octant::mpi {

class Notices {
 public:
  explicit Notices(const Channels& channels);

  // Takes in what has arrived.
  void poll();
  // The first failure that arrived from another rank.
  bool failed() const { return first_failed_ >= 0; }
  int failed_rank() const { return first_failed_; }
  const Failure& failure() const { return *failures_[static_cast<size_t>(first_failed_)]; }
  bool ended(int rank) const { return ended_[static_cast<size_t>(rank)]; }

  // Tells every other rank how this one ended (no failure: well) and waits until all have told theirs. Once a
  // failure is known, ranks that stay silent for `grace_seconds` are ended with MPI_Abort, after
  // `last_words`. Returns what all agree on.
  WorldResult conclude(const std::optional<Failure>& mine, double grace_seconds, const LastWords& last_words);

 private:
  void post_receive();
  WorldResult verdict() const;

  const Channels& channels_;
  std::vector<char> incoming_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<bool> ended_;
  std::vector<std::optional<Failure>> failures_;
  int missing_;
  int first_failed_ = -1;
};

}  // namespace octant::mpi
