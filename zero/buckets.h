// Cuts the units' flat buffers into messages of bounded size.
//
// A bucket holds pieces of one or more units; piece (unit, offset, count) stands for elements [r · slice +
// offset, + count) of every data rank r's slice. Sums are per element and in rank order, so no cut changes a
// bit (docs/parity.md).
#pragma once

#include <cstdint>
#include <vector>

#include "zero/flat_unit.h"

namespace octant {

struct BucketPiece {
  int unit = 0;
  int64_t offset = 0;  // within each slice
  int64_t count = 0;   // elements per slice
};

struct Bucket {
  std::vector<BucketPiece> pieces;
};

inline constexpr int64_t kAutoBucketBytes = 25 << 20;

// `order`: unit indices in the order in which they become ready. `limit`: elements of all ranks' pieces
// together; 0 = whole units up to kAutoBucketBytes of `element_bytes` each. With an explicit limit a unit is
// cut where it passes the limit.
std::vector<Bucket> make_buckets(const std::vector<FlatUnit>& units, const std::vector<int>& order,
                                 int data_size, int64_t limit, int64_t element_bytes);

}  // namespace octant
