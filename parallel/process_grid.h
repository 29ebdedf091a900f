// Where every rank of a job stands: the sizes of the axes and the map between ranks and coordinates.
//
//   ProcessGrid grid({.data = 2, .tensor = 2, .pipeline = 2});
//   grid.coordinates(5)                       // {data 0, tensor 1, pipeline 1}
//   grid.members(Axis::kTensor, 5)            // {4, 5}
//
// A value: no communication, no globals. Rank order: tensor fastest, then data, pipeline slowest (Megatron's
// tp-cp-ep-dp-pp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octant {

enum class Axis : uint8_t { kData, kTensor, kPipeline };
std::string_view name_of(Axis axis);

struct GridSizes {
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
};

struct Coordinates {
  int data = 0;
  int tensor = 0;
  int pipeline = 0;
  bool operator==(const Coordinates&) const = default;
};

class ProcessGrid {
 public:
  // Sizes are at least 1 and their product fits an int; else UserError.
  explicit ProcessGrid(GridSizes sizes);

  const GridSizes& sizes() const { return sizes_; }
  int size(Axis axis) const;
  int world_size() const { return sizes_.data * sizes_.tensor * sizes_.pipeline; }

  Coordinates coordinates(int rank) const;
  int rank(const Coordinates& at) const;

  // The ranks that differ from `rank` on `axis` alone, by their coordinate on it.
  std::vector<int> members(Axis axis, int rank) const;
  // The ranks of the same pipeline as `rank` at the first and last pipeline stage (one rank where pipeline is
  // 1).
  std::vector<int> pipeline_ends(int rank) const;

  // The whole topology on one screen: a table of rank, coordinates.
  std::string str() const;

 private:
  GridSizes sizes_;
};

}  // namespace octant
