// The data of a job as a table for a person: a line a source, its tokens and samples.
#pragma once

#include <string>

#include "data/batch_loader.h"

namespace octant {

std::string sources_table(const BatchLoader& data);

}  // namespace octant
