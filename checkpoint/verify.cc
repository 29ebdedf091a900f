#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"
#include "checkpoint/inspect.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "core/error.h"

namespace octant {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;  // elements

std::string label(const stored::Tensor& tensor) {
  return fmt::format("{} '{}'", name_of(tensor.kind()), tensor.name());
}

struct PlacedSlice {
  const stored::Tensor* tensor;
  const stored::Slice* slice;
};

class Verifier {
 public:
  Verifier(const std::filesystem::path& folder, const VerifyOptions& options)
      : folder_(folder),
        options_(options),
        manifest_(read_manifest(folder)),
        buffer_(static_cast<size_t>(kPiece)) {}

  VerifyReport run() {
    if (const auto step = step_of_checkpoint_name(folder_.filename().string());
        step && static_cast<uint64_t>(*step) != manifest_.step())
      problem(fmt::format("{}: its manifest is of step {}", folder_.string(), manifest_.step()));
    std::vector<std::vector<PlacedSlice>> by_file(static_cast<size_t>(manifest_.files_size()));
    for (const stored::Tensor& tensor : manifest_.tensors()) {
      ++report_.tensors;
      const Coverage found = coverage(whole(shape_of(tensor)), ranges_of(tensor));
      if (!found.exactly_once())
        problem(fmt::format("{}: {}: {} elements missing, {} repeated", (folder_ / kManifestName).string(),
                            label(tensor), found.missing, found.repeated));
      for (const stored::Slice& slice : tensor.slices()) by_file[slice.file()].push_back({&tensor, &slice});
    }
    for (int file = 0; file < manifest_.files_size(); ++file)
      check_file(manifest_.files(file), by_file[file]);
    return std::move(report_);
  }

 private:
  void problem(std::string text) { report_.problems.push_back(std::move(text)); }

  // In the order of the file, so that a disk reads it through.
  void check_file(const stored::File& file, std::vector<PlacedSlice>& slices) {
    std::sort(slices.begin(), slices.end(), [](const PlacedSlice& a, const PlacedSlice& b) {
      return a.slice->data_offset() < b.slice->data_offset();
    });
    const std::filesystem::path path = folder_ / file.name();
    try {
      std::error_code error;
      const uint64_t size = std::filesystem::file_size(path, error);
      if (error)
        throw DataError(
            fmt::format("{}: {}; {} bytes expected", path.string(), error.message(), file.size()));
      if (size != file.size())
        throw DataError(fmt::format("{}: {} bytes expected, {} found", path.string(), file.size(), size));
      const SafetensorsReader reader(path);
      for (const PlacedSlice& placed : slices) check_slice(reader, placed);
    } catch (const DataError& error) {
      problem(error.what());
    }
  }

  void check_slice(const SafetensorsReader& reader, const PlacedSlice& placed) {
    const SliceRange range = range_of(*placed.slice);
    Checksum checksum;
    int64_t bad = 0, first_bad = -1;
    for (int64_t at = 0; at < range.count(); at += kPiece) {
      const int64_t count = std::min(kPiece, range.count() - at);
      reader.read_data(placed.slice->data_offset() + static_cast<uint64_t>(at) * sizeof(float),
                       buffer_.data(), static_cast<size_t>(count) * sizeof(float));
      checksum.update(buffer_.data(), static_cast<size_t>(count) * sizeof(float));
      if (!options_.finite) continue;
      for (int64_t index = 0; index < count; ++index)
        if (!std::isfinite(buffer_[static_cast<size_t>(index)]) && bad++ == 0) first_bad = at + index;
    }
    ++report_.slices;
    report_.bytes += static_cast<uint64_t>(range.count()) * sizeof(float);
    if (checksum.value() != placed.slice->checksum())
      problem(fmt::format("{}: {} {}: checksum {:016x} expected, {:016x} found", reader.path().string(),
                          label(*placed.tensor), to_string(range), placed.slice->checksum(),
                          checksum.value()));
    if (bad > 0)
      problem(fmt::format("{}: {} {}: {} elements are not finite, the first at {}", reader.path().string(),
                          label(*placed.tensor), to_string(range), bad, range.begin + first_bad));
  }

  std::filesystem::path folder_;
  VerifyOptions options_;
  stored::Manifest manifest_;
  std::vector<float> buffer_;
  VerifyReport report_;
};

}  // namespace

VerifyReport verify_checkpoint(const std::filesystem::path& folder, const VerifyOptions& options) {
  return Verifier(folder, options).run();
}

}  // namespace octant
