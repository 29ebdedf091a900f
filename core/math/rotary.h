// Angles of the rotary position embedding (Su et al. 2021): pair i of a head of D elements turns by position
// · base^(-2i/D).
#pragma once

#include <cmath>
#include <cstdint>

namespace octant {

inline double rotary_angle(int64_t position, int64_t pair, int64_t head_size, float base) {
  const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(head_size);
  return static_cast<double>(position) * std::pow(static_cast<double>(base), exponent);
}

}  // namespace octant
