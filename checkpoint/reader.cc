#include "checkpoint/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "core/error.h"

namespace octant {
namespace {

constexpr int64_t kDirect = int64_t{64} << 10;  // elements: a run this long is read straight into its place
constexpr int64_t kGap =
    int64_t{4} << 10;  // elements between two runs that are cheaper read over than skipped
constexpr int64_t kBatch = int64_t{256} << 10;  // elements one read fetches at most for short runs
constexpr size_t kOpenFiles = 64;

std::string label(std::string_view name, stored::TensorKind kind) {
  return fmt::format("{} '{}'", name_of(kind), name);
}

// Tensors of this kind that share the longest beginning with a name that is not there.
std::string nearest(const stored::Manifest& manifest, const std::string& name, stored::TensorKind kind) {
  std::string best;
  size_t most = 0;
  for (const stored::Tensor& tensor : manifest.tensors()) {
    if (tensor.kind() != kind) continue;
    const auto [a, b] = std::mismatch(name.begin(), name.end(), tensor.name().begin(), tensor.name().end());
    const size_t shared = static_cast<size_t>(a - name.begin());
    if (best.empty() || shared > most) {
      best = tensor.name();
      most = shared;
    }
  }
  return best.empty() ? fmt::format("it has no tensor of kind {}", name_of(kind))
                      : fmt::format("the nearest is '{}'", best);
}

}  // namespace

CheckpointReader::CheckpointReader(const std::filesystem::path& folder) : folder_(folder) {
  if (const std::string fault = incompleteness_of(folder); !fault.empty()) throw DataError(fault);
  manifest_ = read_manifest(folder);
}

bool CheckpointReader::has(const std::string& name, stored::TensorKind kind) const {
  return find_tensor(manifest_, name, kind) != nullptr;
}

const SafetensorsReader& CheckpointReader::file_of(const stored::Slice& slice) {
  const auto known = open_.find(slice.file());
  if (known != open_.end()) return *known->second;
  if (open_.size() >= kOpenFiles) open_.clear();
  const std::string& name = manifest_.files(static_cast<int>(slice.file())).name();
  return *open_.emplace(slice.file(), std::make_unique<SafetensorsReader>(folder_ / name)).first->second;
}

void CheckpointReader::read(const std::string& name, stored::TensorKind kind, const Shape& global_shape,
                            const SliceRange& range, float* data) {
  const stored::Tensor* tensor = find_tensor(manifest_, name, kind);
  if (!tensor)
    throw DataError(fmt::format("{}: the model needs {} {}, which this checkpoint lacks; {}",
                                folder_.string(), label(name, kind), global_shape.str(),
                                nearest(manifest_, name, kind)));
  if (!(shape_of(*tensor) == global_shape))
    throw DataError(fmt::format("{}: {} is {} in this checkpoint, but {} in the model", folder_.string(),
                                label(name, kind), shape_of(*tensor).str(), global_shape.str()));
  read(*tensor, range, data);
}

void CheckpointReader::read(const stored::Tensor& tensor, const SliceRange& range, float* data) {
  if (const std::string fault = fault_of(range, shape_of(tensor)); !fault.empty())
    throw BugError(
        fmt::format("reading {} {}: {}", label(tensor.name(), tensor.kind()), to_string(range), fault));
  const std::vector<SliceRange> held = ranges_of(tensor);
  if (const Coverage found = coverage(range, held); !found.at_least_once())
    throw DataError(fmt::format("{}: {} {} is asked for, but {} of its elements are in no file",
                                folder_.string(), label(tensor.name(), tensor.kind()), to_string(range),
                                found.missing));
  for (const stored::Slice& slice : tensor.slices()) read_slice(slice, range, data);
}

void CheckpointReader::read_slice(const stored::Slice& slice, const SliceRange& range, float* data) {
  const SafetensorsReader* file = nullptr;
  batch_.clear();
  for_each_run(range, range_of(slice), [&](int64_t target, int64_t source, int64_t count) {
    if (!file) file = &file_of(slice);
    if (count >= kDirect) {
      file->read_data(slice.data_offset() + static_cast<uint64_t>(source) * sizeof(float), data + target,
                      static_cast<size_t>(count) * sizeof(float));
      return;
    }
    if (!batch_.empty() && (source + count - batch_.front().source > kBatch ||
                            source - batch_.back().source - batch_.back().count > kGap))
      read_batch(*file, slice.data_offset(), data);
    batch_.push_back({target, source, count});
  });
  if (!batch_.empty()) read_batch(*file, slice.data_offset(), data);
}

void CheckpointReader::read_batch(const SafetensorsReader& file, uint64_t slice_offset, float* data) {
  const int64_t first = batch_.front().source;
  const size_t count = static_cast<size_t>(batch_.back().source + batch_.back().count - first);
  if (buffer_.size() < count) buffer_.resize(count);
  file.read_data(slice_offset + static_cast<uint64_t>(first) * sizeof(float), buffer_.data(),
                 count * sizeof(float));
  for (const Run& run : batch_)
    std::memcpy(data + run.target, buffer_.data() + (run.source - first),
                static_cast<size_t>(run.count) * sizeof(float));
  batch_.clear();
}

}  // namespace octant
