#include "zero/buckets.h"

#include <algorithm>

namespace octant {

std::vector<Bucket> make_buckets(const std::vector<FlatUnit>& units, const std::vector<int>& order,
                                 int data_size, int64_t limit, int64_t element_bytes) {
  const bool whole_units = limit == 0;
  const int64_t total = whole_units ? kAutoBucketBytes / element_bytes : limit;
  const int64_t per_slice = std::max<int64_t>(1, total / data_size);
  std::vector<Bucket> buckets;
  int64_t room = 0;
  for (int unit : order) {
    int64_t offset = 0;
    const int64_t slice = units[static_cast<size_t>(unit)].slice;
    while (offset < slice) {
      const int64_t left = slice - offset;
      if (room == 0 || (whole_units && left > room)) {
        buckets.emplace_back();
        room = per_slice;
      }
      const int64_t count = whole_units ? left : std::min(left, room);
      buckets.back().pieces.push_back({unit, offset, count});
      room = std::max<int64_t>(0, room - count);
      offset += count;
    }
  }
  return buckets;
}

}  // namespace octant
