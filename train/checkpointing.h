// Saving and loading a run: the collective walk around the checkpoint room's steps.
//
// All ranks of the world must call. A failure on any rank ends the walk on all of them with that rank's
// error; what was there before stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/engine.h"

namespace octant {

// How far a run has come; what a checkpoint holds besides tensors.
struct Progress {
  int64_t step = 0;              // finished
  int64_t tokens = 0;            // counted tokens trained on
  int64_t consumed_samples = 0;  // the whole data position
};

// Two-phase: every rank writes its slices into a temporary folder, all agree, one renames it (docs/checkpoints.md).
void save_checkpoint(TrainingEngine& engine, const Progress& progress, uint64_t data_fingerprint);

// Where the job says to begin.
struct ResumePoint {
  std::filesystem::path folder;  // empty: a fresh start
  bool weights_only = false;     // step, moments and data position start afresh
  std::vector<std::string> notices;
};
// Decided on rank 0 and told to all; the notices are rank 0's: what was passed over, and why.
// checkpoint.resume_from begins a run: under AUTO the same command, started again, goes on from the run's own
// newest checkpoint, unless resume_from lies in checkpoint.dir (going back). DataError where resume is
// REQUIRED and there is nothing, where resume_from is not complete, and where NEVER meets checkpoints of an
// earlier run.
ResumePoint find_resume_point(World& world, const Job& job);

struct Resumed {
  Progress progress;
  std::vector<std::string> notices;  // fields that differ from the run that saved, with old and new value
};
// Loads what this rank's layout needs.
Resumed load_checkpoint(TrainingEngine& engine, const ResumePoint& point, uint64_t data_fingerprint);
// Weights alone, into an engine that only runs forward.
void load_weights(TrainingEngine& engine, const std::filesystem::path& folder);

// A step folder itself, a folder of checkpoints, or an output folder: the newest complete checkpoint there.
// DataError if there is none.
std::filesystem::path resolve_checkpoint(const std::string& path);

// Of names, shapes and what the mathematics depends on; not of any layout.
uint64_t model_fingerprint(const ModelConfig& config);

}  // namespace octant
