// The accounts of all ranks as a person reads them: rank 0's operations with their limits, then where each
// rank's step went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octant {

// `accounts`: JSON by rank, as train/profile.cc writes it. `asked`: steps that were to be measured.
std::string profile_table(const std::vector<std::string>& accounts, int64_t asked);

}  // namespace octant
