// Standard normal numbers from Philox, by Box & Muller (1958): a pure function of (key, index).
//
// The elements 2p and 2p + 1 come from the block with counter p: u1 = ((lane 0 >> 8) + 1) / 2^24 in (0, 1],
// u2 = (lane 1 >> 8) / 2^24 in [0, 1), r = sqrt(-2 ln u1); the even element is r cos(2 pi u2), the odd one r
// sin(2 pi u2). Computed in double and rounded to float once, so that any program with IEEE doubles can
// repeat an initial weight.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/math/philox.h"

namespace octant {

struct NormalPair {
  float even;
  float odd;
};

inline NormalPair normal_pair(uint64_t key, uint64_t pair) {
  const auto lanes = philox4x32(key, pair);
  const double u1 = static_cast<double>((lanes[0] >> 8) + 1) / 16777216.0;
  const double u2 = static_cast<double>(lanes[1] >> 8) / 16777216.0;
  const double radius = std::sqrt(-2.0 * std::log(u1));
  const double angle = 2.0 * std::numbers::pi * u2;
  return {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle))};
}

inline float normal(uint64_t key, uint64_t index) {
  const NormalPair pair = normal_pair(key, index >> 1);
  return (index & 1) == 0 ? pair.even : pair.odd;
}

}  // namespace octant
