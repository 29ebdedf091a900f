#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "checkpoint/inspect.h"
#include "checkpoint/manifest.h"
#include "checkpoint/reader.h"

namespace octant {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;  // elements

// Adds one piece of both sides to the tensor's figures.
void compare(std::span<const float> a, std::span<const float> b, TensorDiff& diff) {
  for (size_t index = 0; index < a.size(); ++index) {
    const double x = a[index], y = b[index];
    const double magnitude = std::max(std::fabs(x), std::fabs(y));
    if (std::isfinite(magnitude)) diff.largest = std::max(diff.largest, magnitude);
    if (std::bit_cast<uint32_t>(a[index]) == std::bit_cast<uint32_t>(b[index])) continue;
    ++diff.differing;
    const double distance =
        std::isfinite(x) && std::isfinite(y) ? std::fabs(x - y) : std::numeric_limits<double>::infinity();
    diff.max_absolute = std::max(diff.max_absolute, distance);
  }
}

class Differ {
 public:
  Differ(const std::filesystem::path& first, const std::filesystem::path& second)
      : first_(first), second_(second), a_(static_cast<size_t>(kPiece)), b_(static_cast<size_t>(kPiece)) {}

  DiffReport run(const DiffOptions& options) {
    std::set<std::pair<std::string, int>> names;
    for (const CheckpointReader* reader : {&first_, &second_})
      for (const stored::Tensor& tensor : reader->manifest().tensors())
        if (!options.weights_only || tensor.kind() == stored::WEIGHT)
          names.emplace(tensor.name(), tensor.kind());
    DiffReport report;
    for (const auto& [name, kind] : names)
      report.tensors.push_back(diff(name, static_cast<stored::TensorKind>(kind)));
    return report;
  }

 private:
  TensorDiff diff(const std::string& name, stored::TensorKind kind) {
    TensorDiff diff;
    diff.name = name;
    diff.kind = kind;
    const stored::Tensor* a = find_tensor(first_.manifest(), name, kind);
    const stored::Tensor* b = find_tensor(second_.manifest(), name, kind);
    if (!a || !b) {
      diff.state = a ? DiffState::kOnlyInFirst : DiffState::kOnlyInSecond;
    } else if (!(shape_of(*a) == shape_of(*b))) {
      diff.state = DiffState::kOtherShape;
    } else {
      const SliceRange all = whole(shape_of(*a));
      for (int64_t at = 0; at < all.count(); at += kPiece) {
        const SliceRange piece{all.box, at, std::min(at + kPiece, all.count())};
        const size_t count = static_cast<size_t>(piece.count());
        first_.read(*a, piece, a_.data());
        second_.read(*b, piece, b_.data());
        compare({a_.data(), count}, {b_.data(), count}, diff);
      }
      if (diff.differing > 0) diff.state = DiffState::kDifferent;
    }
    return diff;
  }

  CheckpointReader first_, second_;
  std::vector<float> a_, b_;
};

}  // namespace

bool DiffReport::same() const {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorDiff& tensor) { return tensor.state == DiffState::kEqual; });
}

std::string DiffReport::text() const {
  std::string text;
  size_t equal = 0;
  for (const TensorDiff& tensor : tensors) {
    const std::string label = fmt::format("{} '{}'", name_of(tensor.kind), tensor.name);
    switch (tensor.state) {
      case DiffState::kEqual:
        ++equal;
        break;
      case DiffState::kDifferent:
        text += fmt::format("{}: {} elements differ, at most by {:.3g} ({:.3g} of its largest value)\n",
                            label, tensor.differing, tensor.max_absolute, tensor.max_relative());
        break;
      case DiffState::kOtherShape:
        text += label + ": the shapes differ\n";
        break;
      case DiffState::kOnlyInFirst:
        text += label + ": only in the first\n";
        break;
      case DiffState::kOnlyInSecond:
        text += label + ": only in the second\n";
        break;
    }
  }
  return text + fmt::format("{} of {} tensors are equal bit for bit\n", equal, tensors.size());
}

DiffReport diff_checkpoints(const std::filesystem::path& first, const std::filesystem::path& second,
                            const DiffOptions& options) {
  return Differ(first, second).run(options);
}

}  // namespace octant
