// What a resumed run does differently from the one that saved, field by field, for the start-up log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/job.h"
#include "proto/checkpoint.pb.h"

namespace octant {

// One line for each field of the effective job that differs: "optimizer.adamw.learning_rate: 0.001 → 0.0005".
// The new job is in force.
std::vector<std::string> resume_changes(const stored::Manifest& manifest, const Job& job,
                                        uint64_t data_fingerprint);

}  // namespace octant
