// The rows of the start-up table: what runs where, and in what.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/batch_loader.h"
#include "train/engine.h"
#include "train/machine_rate.h"
#include "train/placement.h"

namespace octant {

std::vector<std::pair<std::string, std::string>> start_table(TrainingEngine& engine, const BatchLoader& data,
                                                             const MachineRate& machine,
                                                             const RankPlacement& placement,
                                                             const std::string& start);

}  // namespace octant
