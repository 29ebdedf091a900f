// Which source the i-th training sample comes from, by weight.
//
//   Blend blend({0.7, 0.3});
//   std::vector<Blend::Draw> draws(32);
//   blend.draws(/*begin=*/consumed, draws);      // draws[k].source, and which of its samples: draws[k].index
//
// Draw i takes the source with the largest w·max(i,1) - drawn, the lowest of equals: Megatron-LM's rule, so a
// blend follows the same sequence. After n draws no source is more than one draw ahead of n times its weight;
// of two sources none is more than one behind either, of more none is two behind (measured, not proven). A
// source of weight 0 is never drawn. The sequence is a pure function of the weights; states kept at intervals
// make any position cheap to reach. Safe to use from any number of threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace octant {

class Blend {
 public:
  struct Draw {
    int source = 0;
    int64_t index = 0;  // how many times the source was drawn before
  };

  // Throws UserError when a weight is negative or not finite, or when none is positive.
  explicit Blend(std::span<const double> weights);

  // Weights normalised to sum 1.
  const std::vector<double>& weights() const { return weights_; }
  // Draws begin, begin + 1, … into `out`.
  void draws(int64_t begin, std::span<Draw> out) const;

 private:
  int next(int64_t draw, std::vector<int64_t>& drawn) const;

  std::vector<double> weights_;
  int only_ = -1;  // the one source with a weight, if there is one
  mutable std::mutex mutex_;
  mutable std::vector<std::vector<int64_t>> states_;  // draws of each source before draw k · kInterval
};

}  // namespace octant
