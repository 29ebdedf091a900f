// Which layers each pipeline stage holds.
#pragma once

#include <cstdint>
#include <vector>

namespace octant {

// Cuts `num_layers` blocks over `stages` so that the heaviest stage is as light as can be; the first stage
// also carries `embedding_cost`, the last `head_cost` (costs of the same unit as `layer_cost`). Every stage
// gets at least one layer; among equal best cuts earlier stages get more. Requires 1 <= stages <= num_layers
// (UserError). Sums to num_layers.
std::vector<int64_t> balance_layers(int64_t num_layers, int stages, double layer_cost, double embedding_cost,
                                    double head_cost);

}  // namespace octant
