#include "parallel/process_grid.h"

#include <fmt/format.h>

#include <limits>

#include "core/error.h"

namespace octant {

std::string_view name_of(Axis axis) {
  switch (axis) {
    case Axis::kData:
      return "data";
    case Axis::kTensor:
      return "tensor";
    case Axis::kPipeline:
      return "pipeline";
  }
  return "?";
}

ProcessGrid::ProcessGrid(GridSizes sizes) : sizes_(sizes) {
  if (sizes.data < 1 || sizes.tensor < 1 || sizes.pipeline < 1)
    throw UserError(
        fmt::format("a process grid of data={} x tensor={} x pipeline={}: every axis needs at least one "
                    "rank; use 1 to leave an axis out",
                    sizes.data, sizes.tensor, sizes.pipeline));
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  const int64_t plane = static_cast<int64_t>(sizes.data) * sizes.tensor;
  if (plane > kMost || plane * sizes.pipeline > kMost)
    throw UserError(
        fmt::format("a process grid of data={} x tensor={} x pipeline={}: the product is above {} ranks; use "
                    "smaller axes",
                    sizes.data, sizes.tensor, sizes.pipeline, kMost));
}

int ProcessGrid::size(Axis axis) const {
  switch (axis) {
    case Axis::kData:
      return sizes_.data;
    case Axis::kTensor:
      return sizes_.tensor;
    case Axis::kPipeline:
      return sizes_.pipeline;
  }
  return 1;
}

Coordinates ProcessGrid::coordinates(int rank) const {
  if (rank < 0 || rank >= world_size())
    throw BugError(fmt::format("rank {} is not in a grid of {} ranks", rank, world_size()));
  return {.data = rank / sizes_.tensor % sizes_.data,
          .tensor = rank % sizes_.tensor,
          .pipeline = rank / sizes_.tensor / sizes_.data};
}

int ProcessGrid::rank(const Coordinates& at) const {
  if (at.data < 0 || at.data >= sizes_.data || at.tensor < 0 || at.tensor >= sizes_.tensor ||
      at.pipeline < 0 || at.pipeline >= sizes_.pipeline)
    throw BugError(fmt::format("data {}, tensor {}, pipeline {} is not in a grid of {} x {} x {}", at.data,
                               at.tensor, at.pipeline, sizes_.data, sizes_.tensor, sizes_.pipeline));
  return (at.pipeline * sizes_.data + at.data) * sizes_.tensor + at.tensor;
}

std::vector<int> ProcessGrid::members(Axis axis, int rank) const {
  Coordinates at = coordinates(rank);
  int& moving = axis == Axis::kData ? at.data : axis == Axis::kTensor ? at.tensor : at.pipeline;
  std::vector<int> ranks;
  ranks.reserve(static_cast<size_t>(size(axis)));
  for (moving = 0; moving < size(axis); ++moving) ranks.push_back(this->rank(at));
  return ranks;
}

std::vector<int> ProcessGrid::pipeline_ends(int rank) const {
  const std::vector<int> line = members(Axis::kPipeline, rank);
  if (line.size() == 1) return line;
  return {line.front(), line.back()};
}

std::string ProcessGrid::str() const {
  std::string text =
      fmt::format("{} ranks: data {} x tensor {} x pipeline {}\n{:>6} {:>6} {:>6} {:>8}\n", world_size(),
                  sizes_.data, sizes_.tensor, sizes_.pipeline, "rank", "data", "tensor", "pipeline");
  for (int rank = 0; rank < world_size(); ++rank) {
    const Coordinates at = coordinates(rank);
    text += fmt::format("{:>6} {:>6} {:>6} {:>8}\n", rank, at.data, at.tensor, at.pipeline);
  }
  return text;
}

}  // namespace octant
