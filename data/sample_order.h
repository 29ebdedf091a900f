// The order of samples within an epoch: a permutation that is computed, not stored.
//
//   Permutation epoch(order_key(seed, fingerprint, /*epoch=*/3), windows);
//   int64_t window = epoch(position);                      // a bijection of [0, windows)
//
// A balanced Feistel network (Luby & Rackoff 1988) over the smallest even number of bits that holds n, walked
// along its cycle until the value is below n (Black & Rogaway 2002): fewer than four rounds of it on average,
// no memory, any n below 2^62. The order depends on seed, data, epoch and position alone, so no data size,
// micro-batch or restart can change it.
#pragma once

#include <cstdint>

namespace octant {

// `occurrence` numbers the sources of one blend that hold the same data, so that they do not repeat one
// another.
uint64_t order_key(uint64_t seed, uint64_t fingerprint, int64_t epoch, int64_t occurrence = 0);

class Permutation {
 public:
  // Throws BugError unless 0 < n < 2^62.
  Permutation(uint64_t key, int64_t n);
  // 0 <= position < n.
  int64_t operator()(int64_t position) const;

 private:
  uint64_t key_;
  uint64_t n_;
  int half_bits_;
  uint64_t half_mask_;
};

}  // namespace octant
