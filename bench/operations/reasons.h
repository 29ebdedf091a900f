// Why operations stay below their limits, where that is known: written beside their figures.
#pragma once

#include <string>

namespace octant::bench {

// Shares of the limit below this ask for a reason.
inline constexpr double kReasonBelow = 0.6;

// `name`: of the operation, as its benchmark is called.
std::string reason_of(const std::string& name);

}  // namespace octant::bench
