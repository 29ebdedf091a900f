// Which checkpoint a person means by a folder: a checkpoint itself, a run's folder of checkpoints, or a run's
// output folder. Of several the newest complete one.
//
//   find_checkpoint("runs/quickstart");     // "runs/quickstart/checkpoints/step_00000200"
#pragma once

#include <filesystem>
#include <string>

#include "launch/streams.h"

namespace octant {

// A checkpoint that is named itself is taken as it is, whole or not: looking into a damaged one is what
// `octant checkpoint` is for. Throws DataError if there is none.
std::filesystem::path find_checkpoint(const std::string& given);

// The same; names the choice on `err` where `given` was not the checkpoint itself.
std::filesystem::path find_checkpoint(const std::string& given, Streams& streams);

}  // namespace octant
