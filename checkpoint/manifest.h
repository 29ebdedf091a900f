// The manifest of one checkpoint folder: `manifest.pb`, which says everything about the folder that is not
// the tensors' own bytes.
//
//   const stored::Manifest manifest = read_manifest("checkpoints/step_00000100");
//   const stored::Tensor* tensor = find_tensor(manifest, "wte.weight", stored::WEIGHT);
//
// What read_manifest() returns is sound: versions known, names unique, every slice within its tensor and its
// file. Whether the files are there is asked by checkpoint/folder.h; whether their bytes are right by
// checkpoint/inspect.h.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/box.h"
#include "core/shape.h"
#include "proto/checkpoint.pb.h"

namespace octant {

inline constexpr uint32_t kManifestVersion = 1;
inline constexpr std::string_view kManifestName = "manifest.pb";

// "weight", "exp_avg", "exp_avg_sq"
std::string_view name_of(stored::TensorKind kind);

// Writes and syncs `folder`/manifest.pb. Checks it as the reader will (BugError).
void write_manifest(const stored::Manifest& manifest, const std::filesystem::path& folder);
// DataError if it is missing, torn, foreign or unsound.
stored::Manifest read_manifest(const std::filesystem::path& folder);
// The same from the file's content; `path` is for messages.
stored::Manifest parse_manifest(std::string_view content, const std::filesystem::path& path);
std::string serialize_manifest(const stored::Manifest& manifest);

// The rule that the manifest breaks, with the name of the tensor or file; empty if it is sound.
std::string fault_of(const stored::Manifest& manifest);

// Null if there is none. The tensors of a sound manifest are sorted by name and kind: a binary search.
const stored::Tensor* find_tensor(const stored::Manifest& manifest, std::string_view name,
                                  stored::TensorKind kind);

Shape shape_of(const stored::Tensor& tensor);
SliceRange range_of(const stored::Slice& slice);
std::vector<SliceRange> ranges_of(const stored::Tensor& tensor);

}  // namespace octant
