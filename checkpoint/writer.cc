#include "checkpoint/writer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <system_error>

#include "checkpoint/checksum.h"
#include "checkpoint/file_io.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "core/error.h"

namespace octant {
namespace {

namespace fs = std::filesystem;
constexpr size_t kPiece = size_t{8} << 20;  // hashed and written while still in the cache

std::string rank_file_name(int rank) {
  return fmt::format("rank_{:05d}.safetensors", rank);
}

// A name for people who open the file with other tools; Octant itself finds slices by the manifest.
std::string unique_name(const SaveEntry& entry, std::set<std::string>& taken) {
  std::string base = entry.name;
  if (entry.kind != stored::WEIGHT) base += fmt::format(".{}", name_of(entry.kind));
  std::string name = base;
  for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}#{}", base, copy);
  return name;
}

// A whole box keeps its shape; a flat part of one has only its length.
std::vector<int64_t> stored_shape(const SliceRange& range) {
  if (range.begin != 0 || range.end != range.box.size.elements()) return {range.count()};
  std::vector<int64_t> shape;
  for (int dim = 0; dim < range.box.size.dims(); ++dim) shape.push_back(range.box.size[dim]);
  return shape;
}

stored::Tensor describe(const SaveEntry& entry, uint64_t data_offset, uint64_t checksum) {
  stored::Tensor tensor;
  tensor.set_name(entry.name);
  tensor.set_kind(entry.kind);
  tensor.set_type(stored::F32);
  stored::Slice& slice = *tensor.add_slices();
  slice.set_data_offset(data_offset);
  slice.set_begin(entry.range.begin);
  slice.set_end(entry.range.end);
  slice.set_checksum(checksum);
  for (int dim = 0; dim < entry.global_shape.dims(); ++dim) {
    tensor.add_shape(entry.global_shape[dim]);
    slice.add_box_offset(entry.range.box.offset[dim]);
    slice.add_box_size(entry.range.box.size[dim]);
  }
  return tensor;
}

void check(const SaveEntry& entry) {
  std::string fault = fault_of(entry.range, entry.global_shape);
  if (fault.empty() && entry.range.count() > 0 && !entry.data) fault = "its data is null";
  if (!fault.empty())
    throw BugError(fmt::format("saving {} '{}' {}: {}", name_of(entry.kind), entry.name,
                               entry.global_shape.str(), fault));
}

// Both names change places at once; false where the file system cannot.
bool exchange(const fs::path& a, const fs::path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

void make_final(const fs::path& temp, const fs::path& final_folder) {
  std::error_code error;
  if (!fs::exists(final_folder, error)) {
    if (::rename(temp.c_str(), final_folder.c_str()) != 0)
      fail_with_errno(final_folder, "renaming the finished checkpoint");
    return;
  }
  if (!exchange(temp, final_folder)) {
    fs::remove_all(final_folder, error);
    if (::rename(temp.c_str(), final_folder.c_str()) != 0)
      fail_with_errno(final_folder, "replacing the checkpoint");
  }
}

}  // namespace

void begin_save(const fs::path& directory, int64_t step) {
  const fs::path temp = directory / checkpoint_temp_name(step);
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) fs::remove_all(temp, error);
  if (!error) fs::create_directory(temp, error);
  if (error)
    throw DataError(fmt::format("{}: creating the folder failed: {}", temp.string(), error.message()));
}

std::string write_rank_file(const fs::path& directory, int64_t step, int rank,
                            std::span<const SaveEntry> entries) {
  const std::string file_name = rank_file_name(rank);
  std::vector<const SaveEntry*> kept;
  std::vector<TensorLayout> layouts;
  std::set<std::string> taken;
  for (const SaveEntry& entry : entries) {
    check(entry);
    if (entry.range.count() == 0) continue;
    kept.push_back(&entry);
    layouts.push_back({unique_name(entry, taken), "F32", stored_shape(entry.range)});
  }
  stored::Manifest fragment;
  SafetensorsWriter writer(
      directory / checkpoint_temp_name(step) / file_name, layouts,
      {{"format", "octant"}, {"step", std::to_string(step)}, {"rank", std::to_string(rank)}});
  stored::File& file = *fragment.add_files();
  file.set_name(file_name);
  file.set_size(writer.file_size());
  for (size_t index = 0; index < kept.size(); ++index) {
    const auto* bytes = reinterpret_cast<const char*>(kept[index]->data);
    const size_t total = static_cast<size_t>(kept[index]->range.count()) * sizeof(float);
    Checksum checksum;
    for (size_t at = 0; at < total; at += kPiece) {
      const size_t count = std::min(kPiece, total - at);
      checksum.update(bytes + at, count);
      writer.write(index, at, bytes + at, count);
    }
    *fragment.add_tensors() = describe(*kept[index], writer.data_offset(index), checksum.value());
  }
  writer.finish();
  return fragment.SerializeAsString();
}

std::vector<fs::path> commit_save(const fs::path& directory, const stored::Manifest& manifest, int keep) {
  const int64_t step = static_cast<int64_t>(manifest.step());
  const fs::path temp = directory / checkpoint_temp_name(step);
  const fs::path final_folder = directory / checkpoint_name(step);
  try {
    write_manifest(manifest, temp);
    sync_folder(temp);
    if (const std::string fault = incompleteness_of(temp); !fault.empty()) throw DataError(fault);
    make_final(temp, final_folder);
  } catch (...) {
    abort_save(directory, step);
    throw;
  }
  sync_folder(directory);
  abort_save(directory, step);  // what an exchange has left there: the checkpoint that was replaced
  write_latest(directory, step);
  return apply_retention(directory, step, keep);
}

void abort_save(const fs::path& directory, int64_t step) noexcept {
  try {
    std::error_code ignored;
    fs::remove_all(directory / checkpoint_temp_name(step), ignored);
  } catch (...) {  // no memory for the path's text: the next run removes the folder
  }
}

}  // namespace octant
