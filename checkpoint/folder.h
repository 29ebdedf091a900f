// The folder of a run's checkpoints: which are there, which are whole, which may go.
//
//   checkpoints/latest                  the name of the last one committed
//   checkpoints/step_00000100/          a checkpoint: manifest.pb and rank_00000.safetensors …
//   checkpoints/step_00000150.tmp/      one being written, or left by a run that died
//
// Complete is what has a sound manifest of its own step number and every listed file in its recorded size.
// Everything is sorted by number. Names of another form are never looked into and never touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace octant {

std::string checkpoint_name(int64_t step);       // "step_00000100"
std::string checkpoint_temp_name(int64_t step);  // "step_00000100.tmp"
// The step that a folder name stands for; empty for any other name.
std::optional<int64_t> step_of_checkpoint_name(const std::string& name);

struct FoundCheckpoint {
  int64_t step = 0;
  std::filesystem::path folder;
  std::string fault;  // why it is not complete, naming the file; empty if it is
  bool complete() const { return fault.empty(); }
};

// Why this folder is no complete checkpoint, listing the files at fault; empty if it is. Reads the manifest
// and the files' sizes, not their bytes.
std::string incompleteness_of(const std::filesystem::path& folder);

// All checkpoints of a directory, by ascending step. A directory that is not there holds none.
std::vector<FoundCheckpoint> find_checkpoints(const std::filesystem::path& directory);

struct NewestCheckpoint {
  std::optional<FoundCheckpoint> found;
  std::vector<FoundCheckpoint> skipped;  // newer ones that are not complete, newest first
};
NewestCheckpoint newest_checkpoint(const std::filesystem::path& directory);

// The pointer file, for people and scripts: moved after the commit, atomically. Resuming does not depend on
// it.
void write_latest(const std::filesystem::path& directory, int64_t step);
std::optional<std::string> read_latest(const std::filesystem::path& directory);

// Removes all complete checkpoints but the newest `keep` (at least 1) among those up to `newest_step`, which
// must be complete, else nothing is removed. Later steps (of another run or an abandoned branch) are neither
// counted nor touched. Returns what went.
std::vector<std::filesystem::path> apply_retention(const std::filesystem::path& directory,
                                                   int64_t newest_step, int keep);

// Removes what runs that died have left half written (step_XXXXXXXX.tmp). Only while no run writes here.
// Returns what went.
std::vector<std::filesystem::path> remove_dead_saves(const std::filesystem::path& directory);

}  // namespace octant
