#include "checkpoint/box.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace octant {

SliceRange whole(const Shape& shape) {
  Shape origin;
  for (int dim = 0; dim < shape.dims(); ++dim) origin.append(0);
  return {{origin, shape}, 0, shape.elements()};
}

std::string to_string(const SliceRange& range) {
  std::string text = "[";
  for (int dim = 0; dim < range.box.size.dims(); ++dim)
    text += fmt::format("{}{}:{}", dim ? ", " : "", range.box.offset[dim],
                        range.box.offset[dim] + range.box.size[dim]);
  return text + fmt::format("] elements {}…{}", range.begin, range.end - 1);
}

std::string fault_of(const SliceRange& range, const Shape& global) {
  const Box& box = range.box;
  if (box.offset.dims() != global.dims() || box.size.dims() != global.dims())
    return fmt::format("its box has {} dims, the tensor {}", box.size.dims(), global.dims());
  int64_t elements = 1;
  for (int dim = 0; dim < global.dims(); ++dim) {
    if (box.offset[dim] < 0 || box.size[dim] < 0 || box.offset[dim] > global[dim] ||
        box.size[dim] > global[dim] - box.offset[dim])
      return fmt::format("its box [{}, +{}) leaves dim {} of size {}", box.offset[dim], box.size[dim], dim,
                         global[dim]);
    if (__builtin_mul_overflow(elements, box.size[dim], &elements))
      return "its box has more than 2^63 elements";
  }
  if (range.begin < 0 || range.end < range.begin || range.end > elements)
    return fmt::format("its flat range [{}, {}) is not within its box of {} elements", range.begin, range.end,
                       elements);
  return "";
}

Coverage coverage(const SliceRange& target, std::span<const SliceRange> sources) {
  std::vector<std::pair<int64_t, int64_t>> held;  // [begin, end) in the target
  for (const SliceRange& source : sources)
    for_each_run(target, source, [&](int64_t target_at, int64_t, int64_t count) {
      if (!held.empty() && held.back().second == target_at) {
        held.back().second += count;
      } else {
        held.emplace_back(target_at, target_at + count);
      }
    });
  std::sort(held.begin(), held.end());

  Coverage result;
  int64_t reached = 0;
  const auto miss = [&](int64_t from, int64_t to) {
    if (result.missing == 0) result.first_missing = from;
    result.missing += to - from;
  };
  for (const auto& [begin, end] : held) {
    if (begin > reached) miss(reached, begin);
    if (begin < reached) {
      if (result.repeated == 0) result.first_repeated = begin;
      result.repeated += std::min(end, reached) - begin;
    }
    reached = std::max(reached, end);
  }
  if (reached < target.count()) miss(reached, target.count());
  return result;
}

}  // namespace octant
