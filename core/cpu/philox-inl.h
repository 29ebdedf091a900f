// Philox-4x32-10 a vector of blocks at a time; the numbers are those of core/math/philox.h.
#if defined(OCTANT_CORE_CPU_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OCTANT_CORE_CPU_PHILOX_INL_H_
#undef OCTANT_CORE_CPU_PHILOX_INL_H_
#else
#define OCTANT_CORE_CPU_PHILOX_INL_H_
#endif

#include <algorithm>

#include "core/cpu/vector-inl.h"
#include "core/math/philox.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// bits[i] = random_u32(key, first + i) for i < count.
HWY_INLINE void random_bits_plainly(uint64_t key, uint64_t first, int64_t count, uint32_t* bits) {
  for (int64_t i = 0; i < count;) {
    const uint64_t index = first + static_cast<uint64_t>(i);
    const auto block = philox4x32(key, index >> 2);
    for (uint64_t lane = index & 3; lane < 4 && i < count; ++lane) bits[i++] = block[lane];
  }
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void random_bits(uint64_t key, uint64_t first, int64_t count, uint32_t* bits) {
  random_bits_plainly(key, first, count, bits);
}
#else

using VecU = hn::Vec<Bits32>;

// The high and low halves of the 64-bit products a · multiplier.
HWY_INLINE void multiply_wide(VecU a, VecU multiplier, VecU& high, VecU& low) {
  const Bits32 d;
  const auto even = hn::BitCast(d, hn::MulEven(a, multiplier));
  const auto odd = hn::BitCast(d, hn::MulEven(hn::Shuffle2301(a), multiplier));
  low = hn::OddEven(hn::Shuffle2301(odd), even);
  high = hn::OddEven(odd, hn::Shuffle2301(even));
}

// The four lanes of kLanes blocks from `block` on; the counter's lower word must not wrap among them.
HWY_INLINE void philox_blocks(uint64_t key, uint64_t block, VecU& c0, VecU& c1, VecU& c2, VecU& c3) {
  const Bits32 d;
  c0 = hn::Iota(d, static_cast<uint32_t>(block));
  c1 = hn::Set(d, static_cast<uint32_t>(block >> 32));
  c2 = hn::Zero(d);
  c3 = hn::Zero(d);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    VecU high0, low0, high1, low1;
    multiply_wide(c0, hn::Set(d, 0xD2511F53u), high0, low0);
    multiply_wide(c2, hn::Set(d, 0xCD9E8D57u), high1, low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

HWY_INLINE bool counter_wraps(uint64_t block) {
  return static_cast<uint32_t>(block) > 0xFFFFFFFFu - static_cast<uint32_t>(kLanes);
}

HWY_INLINE void random_bits(uint64_t key, uint64_t first, int64_t count, uint32_t* bits) {
  // To the start of a block, then whole vectors of blocks as long as the counter's lower word does not wrap,
  // then the rest.
  int64_t done = std::min<int64_t>(count, static_cast<int64_t>((4 - (first & 3)) & 3));
  random_bits_plainly(key, first, done, bits);
  for (; done + 4 * kLanes <= count; done += 4 * kLanes) {
    const uint64_t block = (first + static_cast<uint64_t>(done)) >> 2;
    if (counter_wraps(block)) {
      random_bits_plainly(key, block << 2, 4 * kLanes, bits + done);
      continue;
    }
    VecU c0, c1, c2, c3;
    philox_blocks(key, block, c0, c1, c2, c3);
    hn::StoreInterleaved4(c0, c1, c2, c3, Bits32(), bits + done);
  }
  random_bits_plainly(key, first + static_cast<uint64_t>(done), count - done, bits + done);
}
#endif

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
