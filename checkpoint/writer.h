// Saving, as the steps that the ranks of a run walk through together. Nothing here communicates: the training
// loop does, between the steps.
//
//   begin_save(directory, step);                              // one rank; then all agree
//   fragment = write_rank_file(directory, step, rank, mine);  // every rank; then all agree, one gathers
//   manifest = combine(header, fragments);                    // that one rank
//   commit_save(directory, manifest, keep);                   // lasting from here on; then all agree
//
// Whenever a rank throws (DataError: a full disk, a read-only or vanished folder), all leave the walk and one
// calls abort_save(). Until the commit's rename, earlier checkpoints and `latest` are untouched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/box.h"
#include "proto/checkpoint.pb.h"

namespace octant {

// A piece of a logical tensor that this rank writes. Replicas are the caller's matter: exactly one rank may
// bring each element.
struct SaveEntry {
  std::string name;
  stored::TensorKind kind = stored::WEIGHT;
  Shape global_shape;
  SliceRange range;
  const float* data = nullptr;  // range.count() elements, alive during write_rank_file
};

// Creates the directory and an empty step_XXXXXXXX.tmp in it.
void begin_save(const std::filesystem::path& directory, int64_t step);

// Writes and syncs rank_00003.safetensors in the temporary folder. Returns this rank's part of the manifest,
// serialised. Entries without elements are left out; a rank without any writes a file without tensors.
std::string write_rank_file(const std::filesystem::path& directory, int64_t step, int rank,
                            std::span<const SaveEntry> entries);

// Puts the fragments of all ranks, in any order, into a copy of `header` (which holds step, tokens, … but
// neither files nor tensors). Checks that the ranks agree about shapes and that every element of every tensor
// is held exactly once (BugError naming tensor, element and files).
stored::Manifest combine(const stored::Manifest& header, std::span<const std::string> fragments);

// Manifest, sync, rename to the final name, sync, `latest`, retention (checkpoint/folder.h). A checkpoint of
// this step that was there before is replaced in one move. On failure before the rename the temporary folder
// is removed. Returns what retention removed.
std::vector<std::filesystem::path> commit_save(const std::filesystem::path& directory,
                                               const stored::Manifest& manifest, int keep);

// Removes the temporary folder of a save that failed, as far as the disk lets it. Never throws.
void abort_save(const std::filesystem::path& directory, int64_t step) noexcept;

}  // namespace octant
