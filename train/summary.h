// What a run needed and moved: summary.json, from every rank's ledgers.
#pragma once

#include <string>

#include "train/console.h"
#include "train/engine.h"

namespace octant {

// This rank's part, as JSON: where it stood, memory peaks by kind, traffic by group, operation and purpose,
// per step over `steps`.
std::string rank_summary(TrainingEngine& engine, int64_t steps);
// Gathers all ranks' parts; the result is complete on every rank. Collective over the world.
// `matmul_rate`: of the machine, in FLOP/s.
std::string run_summary(TrainingEngine& engine, int64_t steps, double seconds, double matmul_rate);

}  // namespace octant
