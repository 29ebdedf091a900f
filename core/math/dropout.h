// Which elements dropout keeps (Srivastava et al. 2014), and by how much the kept ones grow.
//
// An element is named by its place in the global batch, so the mask is the same in every layout and
// recomputation draws it again.
#pragma once

#include <cstdint>

#include "core/math/philox.h"

namespace octant {

inline uint64_t dropout_element(int64_t sample, int64_t sequence, int64_t position, int64_t columns,
                                int64_t column) {
  return static_cast<uint64_t>((sample * sequence + position) * columns + column);
}

inline bool dropout_keeps(uint32_t bits, float probability) {
  return uniform_from_u32(bits) >= probability;
}

// Factor of a kept element; with probability 1 nothing is kept.
inline float dropout_scale(float probability) {
  return probability < 1.0f ? static_cast<float>(1.0 / (1.0 - static_cast<double>(probability))) : 0.0f;
}

}  // namespace octant
