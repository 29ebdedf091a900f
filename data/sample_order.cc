#include "data/sample_order.h"

#include <bit>

#include "core/error.h"
#include "core/math/philox.h"

namespace octant {

uint64_t order_key(uint64_t seed, uint64_t fingerprint, int64_t epoch, int64_t occurrence) {
  uint64_t key = mix64(mix64(seed ^ 0x0DE8ull) ^ fingerprint);
  key = mix64(key ^ static_cast<uint64_t>(epoch));
  return occurrence == 0 ? key : mix64(key ^ static_cast<uint64_t>(occurrence));
}

Permutation::Permutation(uint64_t key, int64_t n) : key_(key), n_(static_cast<uint64_t>(n)) {
  if (n <= 0 || n >= int64_t{1} << 62) throw BugError("a permutation needs between 1 and 2^62 elements");
  const auto bits = static_cast<int>(std::bit_width(n_ - 1));
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
}

int64_t Permutation::operator()(int64_t position) const {
  constexpr uint64_t kRounds = 6;
  auto value = static_cast<uint64_t>(position);
  do {
    uint64_t left = value >> half_bits_, right = value & half_mask_;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mixed = mix64(key_ ^ (round << 56) ^ right) & half_mask_;
      const uint64_t next = left ^ mixed;
      left = right;
      right = next;
    }
    value = left << half_bits_ | right;
  } while (value >= n_);
  return static_cast<int64_t>(value);
}

}  // namespace octant
