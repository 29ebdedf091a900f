// The sequence of training samples of a whole job: blend, epochs and permutation together.
//
//   TrainingOrder order(seed, {{.weight = 1, .windows = 1000, .fingerprint = f}});
//   std::vector<Sample> samples(global_batch);
//   order.samples(/*begin=*/consumed, samples);
//
// Sample i of the job is a pure function of i: its source by the blend, then the source's own epoch and
// position, each epoch shuffled anew. Safe to use from any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/blend.h"

namespace octant {

struct Sample {
  int source = 0;
  int64_t window = 0;
};

class TrainingOrder {
 public:
  struct Source {
    double weight = 1.0;
    int64_t windows = 0;  // may be 0 where the weight is
    uint64_t fingerprint = 0;
  };

  // Throws UserError as Blend does.
  TrainingOrder(uint64_t seed, std::vector<Source> sources);

  const std::vector<double>& weights() const { return blend_.weights(); }  // normalised
  void samples(int64_t begin, std::span<Sample> out) const;

 private:
  uint64_t seed_;
  std::vector<Source> sources_;
  std::vector<int64_t> occurrences_;
  Blend blend_;
};

}  // namespace octant
