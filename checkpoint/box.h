// Where a piece of a tensor lies in the whole, and which elements two pieces share: the core of loading on
// any layout.
//
//   // Of the columns 64…127 of a 128-row matrix, the first 64 rows.
//   SliceRange mine{{{0, 64}, {128, 64}}, 0, 4096};
//   for_each_run(mine, stored, [&](int64_t mine_at, int64_t stored_at, int64_t count) {
//     std::copy_n(file + stored_at, count, memory + mine_at);
//   });
//
// A tensor axis cuts boxes out of the global tensor; ZeRO cuts flat ranges out of the row-major order of such
// a box. A SliceRange is both. Pure functions of sizes; nothing is allocated.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/shape.h"

namespace octant {

// The indices offset[d] … offset[d] + size[d] − 1 along every dim d, in global coordinates.
struct Box {
  Shape offset;
  Shape size;
  bool operator==(const Box&) const = default;
};

// The elements [begin, end) of the box's row-major order.
struct SliceRange {
  Box box;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t count() const { return end - begin; }
  bool operator==(const SliceRange&) const = default;
};

// All of a tensor of this global shape.
SliceRange whole(const Shape& shape);

// "[0:64, 64:128] elements 0…4095"
std::string to_string(const SliceRange& range);

// The rule that `range` breaks as a slice of a tensor of this shape (dims, bounds, flat range, overflow);
// empty if it is sound.
std::string fault_of(const SliceRange& range, const Shape& global);

// How often a set of slices holds the elements of a target.
struct Coverage {
  int64_t missing = 0;         // elements of the target that no source holds
  int64_t repeated = 0;        // further copies of elements that were held already
  int64_t first_missing = -1;  // the first such element, counted from target.begin
  int64_t first_repeated = -1;
  bool at_least_once() const { return missing == 0; }
  bool exactly_once() const { return missing == 0 && repeated == 0; }
};
Coverage coverage(const SliceRange& target, std::span<const SliceRange> sources);

// Calls f(target_offset, source_offset, count) for every run of elements that both slices hold and that is
// contiguous in both, in ascending order of both offsets. Offsets count elements from target.begin and
// source.begin. Runs are as long as can be: rows, or whole blocks of rows where both boxes hold the full
// rows.
template <typename F>
void for_each_run(const SliceRange& target, const SliceRange& source, F&& f) {
  const int dims = target.box.size.dims();
  if (target.begin >= target.end || source.begin >= source.end) return;
  if (dims == 0) return f(int64_t{0}, int64_t{0}, int64_t{1});

  std::array<int64_t, Shape::kMaxDims> low{}, high{}, target_stride{}, source_stride{};
  int64_t target_step = 1, source_step = 1;
  for (int dim = dims - 1; dim >= 0; --dim) {
    target_stride[dim] = target_step;
    source_stride[dim] = source_step;
    target_step *= target.box.size[dim];
    source_step *= source.box.size[dim];
    low[dim] = std::max(target.box.offset[dim], source.box.offset[dim]);
    high[dim] = std::min(target.box.offset[dim] + target.box.size[dim],
                         source.box.offset[dim] + source.box.size[dim]);
    if (low[dim] >= high[dim]) return;
  }
  // Rows of dim 0 that neither flat range reaches are left out at once.
  const auto reach = [&](const SliceRange& range, int64_t stride) {
    low[0] = std::max(low[0], range.box.offset[0] + range.begin / stride);
    high[0] = std::min(high[0], range.box.offset[0] + (range.end - 1) / stride + 1);
  };
  reach(target, target_stride[0]);
  reach(source, source_stride[0]);
  if (low[0] >= high[0]) return;

  // `inner` is the outermost dim below which both boxes hold the same full rows: from it on, a run is
  // contiguous.
  int inner = dims - 1;
  int64_t length = high[inner] - low[inner];
  while (inner > 0 && high[inner] - low[inner] == target.box.size[inner] &&
         high[inner] - low[inner] == source.box.size[inner]) {
    --inner;
    length *= high[inner] - low[inner];
  }

  std::array<int64_t, Shape::kMaxDims> index = low;
  while (true) {
    int64_t target_at = -target.begin, source_at = -source.begin;
    for (int dim = 0; dim < dims; ++dim) {
      target_at += (index[dim] - target.box.offset[dim]) * target_stride[dim];
      source_at += (index[dim] - source.box.offset[dim]) * source_stride[dim];
    }
    const int64_t from = std::max({int64_t{0}, -target_at, -source_at});
    const int64_t to = std::min({length, target.count() - target_at, source.count() - source_at});
    if (from < to) f(target_at + from, source_at + from, to - from);
    int dim = inner - 1;
    while (dim >= 0 && ++index[dim] == high[dim]) {
      index[dim] = low[dim];
      --dim;
    }
    if (dim < 0) return;
  }
}

}  // namespace octant
