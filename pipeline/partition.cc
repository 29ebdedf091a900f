#include "pipeline/partition.h"

#include <fmt/format.h>

#include "core/error.h"

namespace octant {

// Layers are alike, so handing them out one by one, each to the stage that stays lightest with it, is
// optimal: not only is the heaviest stage as light as can be, the second heaviest is too, and so on (30
// layers over 4 stages give 8 8 7 7, never 8 8 8 6).
std::vector<int64_t> balance_layers(int64_t num_layers, int stages, double layer_cost, double embedding_cost,
                                    double head_cost) {
  if (stages < 1 || stages > num_layers)
    throw UserError(
        fmt::format("pipeline stages={} with num_layers={}: every stage needs a layer; use 1 to {} stages",
                    stages, num_layers, num_layers));
  if (!(layer_cost > 0) || !(embedding_cost >= 0) || !(head_cost >= 0))
    throw BugError(fmt::format("balance_layers: costs of layer {}, embedding {}, head {} must be positive",
                               layer_cost, embedding_cost, head_cost));
  std::vector<int64_t> layers(static_cast<size_t>(stages), 1);
  const auto load = [&](int stage, int64_t count) {
    double cost = static_cast<double>(count) * layer_cost;
    if (stage == 0) cost += embedding_cost;
    if (stage == stages - 1) cost += head_cost;
    return cost;
  };
  for (int64_t left = num_layers - stages; left > 0; --left) {
    int lightest = 0;
    for (int stage = 1; stage < stages; ++stage)
      if (load(stage, layers[stage] + 1) < load(lightest, layers[lightest] + 1)) lightest = stage;
    ++layers[lightest];
  }
  return layers;
}

}  // namespace octant
