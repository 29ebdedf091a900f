// Rotary position embedding on the CPU. Arguments: core/ops.h; called by the CPU backend.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops.h"

namespace octant::cpu {

// Cosines and sines of one (sequence, head size, base), kept between calls: they are the same in every layer
// and step.
class RotaryTable {
 public:
  // Rows of (D/2 cosines | D/2 sines), one a position.
  const float* rows(int64_t sequence, int64_t head_size, float base);

 private:
  int64_t sequence_ = 0;
  int64_t head_size_ = 0;
  float base_ = 0;
  std::vector<float> values_;
};

void rotary(const RotaryArgs& args, int threads, RotaryTable& table);

}  // namespace octant::cpu
