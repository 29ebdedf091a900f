#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "checkpoint/checksum.h"
#include "checkpoint/file_io.h"
#include "core/error.h"

namespace octant {
namespace {

constexpr uint64_t kElementBytes = 4;
constexpr uint64_t kMaxManifest = uint64_t{1} << 30;

auto key_of(const stored::Tensor& tensor) {
  return std::tuple<const std::string&, int>(tensor.name(), tensor.kind());
}

std::string label(const stored::Tensor& tensor) {
  return fmt::format("{} '{}'", name_of(tensor.kind()), tensor.name());
}

std::string fault_of_file(const stored::File& file) {
  const std::string& name = file.name();
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    return fmt::format("file name '{}' is not a plain name within the folder", name);
  if (name == kManifestName) return "it lists itself among its files";
  return "";
}

std::string fault_of_tensor(const stored::Tensor& tensor, const stored::Manifest& manifest) {
  if (tensor.name().empty()) return "a tensor has no name";
  if (tensor.kind() < stored::WEIGHT || tensor.kind() > stored::EXP_AVG_SQ)
    return fmt::format("tensor '{}' has unknown kind {}", tensor.name(), static_cast<int>(tensor.kind()));
  if (tensor.type() != stored::F32)
    return fmt::format("{} has unknown element type {}", label(tensor), static_cast<int>(tensor.type()));
  if (tensor.shape_size() > Shape::kMaxDims)
    return fmt::format("{} has {} dims", label(tensor), tensor.shape_size());
  int64_t bytes = kElementBytes;
  for (int64_t size : tensor.shape())
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
      return fmt::format("{} has an impossible size {}", label(tensor), size);
  const Shape shape = shape_of(tensor);
  for (const stored::Slice& slice : tensor.slices()) {
    if (slice.file() >= static_cast<uint32_t>(manifest.files_size()))
      return fmt::format("{} lies in file number {} of {}", label(tensor), slice.file(),
                         manifest.files_size());
    if (slice.box_offset_size() > Shape::kMaxDims || slice.box_size_size() > Shape::kMaxDims)
      return fmt::format("{} has a slice with more than {} dims", label(tensor), Shape::kMaxDims);
    for (int64_t size : slice.box_size())
      if (size < 0) return fmt::format("{} has a slice of size {}", label(tensor), size);
    for (int64_t offset : slice.box_offset())
      if (offset < 0) return fmt::format("{} has a slice at offset {}", label(tensor), offset);
    const SliceRange range = range_of(slice);
    if (const std::string fault = fault_of(range, shape); !fault.empty())
      return fmt::format("{} has a slice of which {}", label(tensor), fault);
    const stored::File& file = manifest.files(static_cast<int>(slice.file()));
    const uint64_t bytes_held = kElementBytes * static_cast<uint64_t>(range.count());
    if (slice.data_offset() > file.size() || bytes_held > file.size() - slice.data_offset())
      return fmt::format("{} has a slice of {} bytes at {} of file '{}', which has only {}", label(tensor),
                         bytes_held, slice.data_offset(), file.name(), file.size());
  }
  return "";
}

}  // namespace

std::string_view name_of(stored::TensorKind kind) {
  switch (kind) {
    case stored::WEIGHT:
      return "weight";
    case stored::EXP_AVG:
      return "exp_avg";
    case stored::EXP_AVG_SQ:
      return "exp_avg_sq";
    default:
      return "?";
  }
}

Shape shape_of(const stored::Tensor& tensor) {
  Shape shape;
  for (int64_t size : tensor.shape()) shape.append(size);
  return shape;
}

SliceRange range_of(const stored::Slice& slice) {
  SliceRange range{{}, slice.begin(), slice.end()};
  for (int64_t offset : slice.box_offset()) range.box.offset.append(offset);
  for (int64_t size : slice.box_size()) range.box.size.append(size);
  return range;
}

std::vector<SliceRange> ranges_of(const stored::Tensor& tensor) {
  std::vector<SliceRange> ranges;
  ranges.reserve(static_cast<size_t>(tensor.slices_size()));
  for (const stored::Slice& slice : tensor.slices()) ranges.push_back(range_of(slice));
  return ranges;
}

std::string fault_of(const stored::Manifest& manifest) {
  if (manifest.format_version() != kManifestVersion)
    return fmt::format("format version {}, this build reads {}", manifest.format_version(), kManifestVersion);
  if (manifest.checksum_algorithm() != kChecksumAlgorithm)
    return fmt::format("checksum algorithm '{}', this build knows '{}'", manifest.checksum_algorithm(),
                       kChecksumAlgorithm);
  std::set<std::string_view> names;
  for (const stored::File& file : manifest.files()) {
    if (std::string fault = fault_of_file(file); !fault.empty()) return fault;
    if (!names.insert(file.name()).second) return fmt::format("it lists file '{}' twice", file.name());
  }
  const stored::Tensor* previous = nullptr;
  for (const stored::Tensor& tensor : manifest.tensors()) {
    if (std::string fault = fault_of_tensor(tensor, manifest); !fault.empty()) return fault;
    if (previous && !(key_of(*previous) < key_of(tensor)))
      return fmt::format("{} comes after {}: tensors are unique and sorted by name and kind", label(tensor),
                         label(*previous));
    previous = &tensor;
  }
  return "";
}

std::string serialize_manifest(const stored::Manifest& manifest) {
  stored::ManifestFile file;
  *file.mutable_manifest() = manifest.SerializeAsString();
  file.set_checksum(checksum_of(file.manifest().data(), file.manifest().size()));
  return file.SerializeAsString();
}

void write_manifest(const stored::Manifest& manifest, const std::filesystem::path& folder) {
  if (const std::string fault = fault_of(manifest); !fault.empty())
    throw BugError("writing a manifest: " + fault);
  replace_file(folder / kManifestName, serialize_manifest(manifest));
}

stored::Manifest parse_manifest(std::string_view content, const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) { throw DataError(path.string() + ": " + why); };
  stored::ManifestFile file;
  if (content.size() > kMaxManifest)
    fail(fmt::format("{} bytes are too many for a manifest", content.size()));
  if (!file.ParseFromArray(content.data(), static_cast<int>(content.size())))
    fail(fmt::format("its {} bytes are no manifest; torn or foreign", content.size()));
  const uint64_t found = checksum_of(file.manifest().data(), file.manifest().size());
  if (found != file.checksum())
    fail(fmt::format("checksum {:016x} expected, {:016x} found; the manifest is torn or damaged",
                     file.checksum(), found));
  stored::Manifest manifest;
  if (!manifest.ParseFromString(file.manifest())) fail("its content is no manifest");
  if (const std::string fault = fault_of(manifest); !fault.empty()) fail(fault);
  return manifest;
}

stored::Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kManifestName;
  return parse_manifest(read_small_file(path, kMaxManifest), path);
}

const stored::Tensor* find_tensor(const stored::Manifest& manifest, std::string_view name,
                                  stored::TensorKind kind) {
  const auto& tensors = manifest.tensors();
  const auto found = std::lower_bound(
      tensors.begin(), tensors.end(), std::pair(name, static_cast<int>(kind)),
      [](const stored::Tensor& tensor, const std::pair<std::string_view, int>& key) {
        return std::pair(std::string_view(tensor.name()), static_cast<int>(tensor.kind())) < key;
      });
  if (found == tensors.end() || found->name() != name || found->kind() != kind) return nullptr;
  return &*found;
}

}  // namespace octant
