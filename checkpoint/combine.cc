#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checkpoint/checksum.h"
#include "checkpoint/manifest.h"
#include "checkpoint/writer.h"
#include "core/error.h"

namespace octant {
namespace {

std::string label(const stored::Tensor& tensor) {
  return fmt::format("{} '{}' {}", name_of(tensor.kind()), tensor.name(), shape_of(tensor).str());
}

// Index of a flat element of the whole tensor, as "[3, 17]".
std::string place_of(int64_t element, const Shape& shape) {
  std::string text;
  for (int dim = shape.dims() - 1; dim >= 0; --dim) {
    text = fmt::format("{}{}{}", element % shape[dim], text.empty() ? "" : ", ", text);
    element /= shape[dim];
  }
  return "[" + text + "]";
}

// The files that hold an element, for the message.
std::string holders_of(const stored::Tensor& tensor, int64_t element, const stored::Manifest& manifest) {
  SliceRange one = whole(shape_of(tensor));
  one.begin = element;
  one.end = element + 1;
  std::string names;
  for (const stored::Slice& slice : tensor.slices())
    for_each_run(one, range_of(slice), [&](int64_t, int64_t, int64_t) {
      names += (names.empty() ? "" : ", ") + manifest.files(static_cast<int>(slice.file())).name();
    });
  return names;
}

void check_coverage(const stored::Tensor& tensor, const stored::Manifest& manifest) {
  const Shape shape = shape_of(tensor);
  const Coverage found = coverage(whole(shape), ranges_of(tensor));
  if (found.missing > 0)
    throw BugError(fmt::format("saving {}: no rank brought {} of its elements, the first at {}",
                               label(tensor), found.missing, place_of(found.first_missing, shape)));
  if (found.repeated > 0)
    throw BugError(fmt::format("saving {}: {} elements were brought more than once, the first at {} by {}",
                               label(tensor), found.repeated, place_of(found.first_repeated, shape),
                               holders_of(tensor, found.first_repeated, manifest)));
}

}  // namespace

stored::Manifest combine(const stored::Manifest& header, std::span<const std::string> fragments) {
  stored::Manifest manifest = header;
  manifest.set_format_version(kManifestVersion);
  manifest.set_checksum_algorithm(std::string(kChecksumAlgorithm));
  manifest.clear_files();
  manifest.clear_tensors();

  std::vector<stored::Manifest> parts;
  for (const std::string& text : fragments) {
    stored::Manifest& part = parts.emplace_back();
    if (!part.ParseFromString(text) || part.files_size() != 1)
      throw BugError("saving: a rank's part of the manifest is torn");
  }
  // By file name, so that the manifest does not depend on the order of arrival.
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.files(0).name() < b.files(0).name(); });

  std::map<std::pair<std::string, int>, stored::Tensor> tensors;
  for (stored::Manifest& part : parts) {
    const uint32_t file = static_cast<uint32_t>(manifest.files_size());
    *manifest.add_files() = part.files(0);
    for (stored::Tensor& tensor : *part.mutable_tensors()) {
      for (stored::Slice& slice : *tensor.mutable_slices()) slice.set_file(file);
      const auto [known, fresh] = tensors.try_emplace({tensor.name(), tensor.kind()}, tensor);
      if (fresh) continue;
      if (!(shape_of(known->second) == shape_of(tensor)))
        throw BugError(fmt::format("saving {}: {} gives it the shape {}", label(known->second),
                                   part.files(0).name(), shape_of(tensor).str()));
      for (stored::Slice& slice : *tensor.mutable_slices()) *known->second.add_slices() = std::move(slice);
    }
  }
  for (auto& [key, tensor] : tensors) {
    check_coverage(tensor, manifest);
    *manifest.add_tensors() = std::move(tensor);
  }
  if (const std::string fault = fault_of(manifest); !fault.empty()) throw BugError("saving: " + fault);
  return manifest;
}

}  // namespace octant
