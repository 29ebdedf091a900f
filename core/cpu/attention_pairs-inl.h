// How bf16 attention packs its operands for pair_product: two neighbours along the sum in each 32 bits, and
// zeros in place of what an odd size or a short block lacks.
#if defined(OCTANT_CORE_CPU_ATTENTION_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OCTANT_CORE_CPU_ATTENTION_PAIRS_INL_H_
#undef OCTANT_CORE_CPU_ATTENTION_PAIRS_INL_H_
#else
#define OCTANT_CORE_CPU_ATTENTION_PAIRS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "core/cpu/attention-inl.h"
#include "core/cpu/pair_product.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

using VecPairs = hn::Vec<Bits32>;

inline int64_t pairs_in(int64_t size) {
  return (size + 1) / 2;
}

// The bf16 numbers nearest to v in the upper halves, of two as near the larger in magnitude; below them, what
// is to be dropped. Right for every number and for the NaNs that bf16 inputs and arithmetic make.
HWY_INLINE VecPairs rounded_above(VecF v) {
  const Bits32 d;
  return hn::Add(hn::BitCast(d, v), hn::Set(d, 0x8000u));
}
HWY_INLINE VecPairs as_pairs(VecPairs first_above, VecPairs second_above) {
  return hn::Or(hn::ShiftRight<16>(first_above), hn::And(second_above, hn::Set(Bits32(), 0xFFFF0000u)));
}
// Writes half h of a row of pairs, and those beside it.
HWY_INLINE void store_halves(VecPairs above, uint32_t* row, int64_t h) {
  const auto halves = hn::ShiftRight<16>(above);
  auto* const to = reinterpret_cast<unsigned char*>(row) + 2 * h;
#if HWY_TARGET == HWY_SCALAR
  const auto half = static_cast<uint16_t>(hn::GetLane(halves));
  std::memcpy(to, &half, sizeof(half));
#else
  hn::StoreU(hn::TruncateTo(Bits16(), halves), Bits16(), reinterpret_cast<uint16_t*>(to));
#endif
}

// 2^x within two units in the last place for x up to 127: 0 below -126, NaN kept. x = n + r with |r| <= 1/2; the
// polynomial is the one of degree 5 with the smallest largest error that is 1 at 0. Adding 1.5 · 2^23 rounds
// and leaves n in the low bits, whence it is added to the exponent.
HWY_INLINE VecF exp2_of(VecF x) {
  const F32 d;
  const Bits32 di;
  const VecF rounder = splat(12582912.0f);
  const VecF limited = at_least(splat(-126.0f), x);
  const VecF shifted = hn::Add(limited, rounder);
  const VecF r = hn::Sub(limited, hn::Sub(shifted, rounder));
  VecF p = splat(0x1.5bba14p-10f);
  p = hn::MulAdd(p, r, splat(0x1.3cea88p-7f));
  p = hn::MulAdd(p, r, splat(0x1.c6b752p-5f));
  p = hn::MulAdd(p, r, splat(0x1.ebf9bcp-3f));
  p = hn::MulAdd(p, r, splat(0x1.62e42ap-1f));
  p = hn::MulAdd(p, r, splat(1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const VecF result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  return hn::IfThenZeroElse(hn::Lt(x, splat(-126.0f)), result);
}

inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kLn2 = 0.693147180559945309f;

// to[j][d / 2] = from[j][d], from[j][d + 1], rows of pairs_in(size): the sum runs over d.
inline void pack_rows(const BFloat16* from, int64_t stride, int64_t rows, int64_t size, uint32_t* to) {
  const int64_t pairs = pairs_in(size);
  for (int64_t j = 0; j < rows; ++j) {
    const BFloat16* row = from + j * stride;
    std::memcpy(to + j * pairs, row, static_cast<size_t>(size / 2) * sizeof(uint32_t));
    if (size % 2 != 0) to[(j + 1) * pairs - 1] = pair_of(row[size - 1], {});
  }
}

// to[i / 2][d] = from[i][d], from[i + 1][d], `width` lanes a row: the sum runs over i.
inline void pack_row_pairs(const BFloat16* from, int64_t stride, int64_t rows, int64_t size, uint32_t* to,
                           int64_t width) {
  for (int64_t p = 0; p < pairs_in(rows); ++p) {
    const BFloat16* first = from + 2 * p * stride;
    uint32_t* target = to + p * width;
    if (2 * p + 1 < rows) {
      for (int64_t d = 0; d < size; ++d) target[d] = pair_of(first[d], first[stride + d]);
    } else {
      for (int64_t d = 0; d < size; ++d) target[d] = pair_of(first[d], {});
    }
    std::fill(target + size, target + width, uint32_t{0});
  }
}

// to[d][j / 2] = from[j][d], from[j + 1][d], kHalf pairs a row: the sum runs over j. `buffer` holds kHalf
// rows of `size` pairs.
HWY_INLINE void pack_transposed(const BFloat16* from, int64_t stride, int64_t rows, int64_t size,
                                uint32_t* buffer, uint32_t* to) {
  const int64_t pairs = pairs_in(rows);
  pack_row_pairs(from, stride, rows, size, buffer, size);
  transpose(buffer, size, pairs, size, to, kHalf);
  for (int64_t d = 0; d < size; ++d) std::fill(to + d * kHalf + pairs, to + (d + 1) * kHalf, uint32_t{0});
}

// to[d / 2][i] = from[i][d], from[i][d + 1], kBlock lanes a row: the sum runs over d. `buffer` holds kBlock
// rows of pairs_in(size) pairs.
HWY_INLINE void pack_lanes(const BFloat16* from, int64_t stride, int64_t rows, int64_t size, uint32_t* buffer,
                           uint32_t* to) {
  const int64_t pairs = pairs_in(size);
  pack_rows(from, stride, rows, size, buffer);
  transpose(buffer, pairs, rows, pairs, to, kBlock);
  for (int64_t p = 0; p < pairs; ++p) std::fill(to + p * kBlock + rows, to + (p + 1) * kBlock, uint32_t{0});
}

// scores[j][i] = sum over d of rows[j][d] · lanes[d][i]; of a block on the diagonal, those of the later keys
// with the earlier queries, a quarter, are not computed.
HWY_INLINE void pair_scores(bool diagonal, int64_t keys, int64_t size, const uint32_t* rows,
                            const uint32_t* lanes, float* scores) {
  const int64_t pairs = pairs_in(size);
  PairProductArgs product{.rows = diagonal ? std::min(keys, kHalf) : keys,
                          .columns = kBlock,
                          .pairs = pairs,
                          .a = rows,
                          .lda = pairs,
                          .b = lanes,
                          .ldb = kBlock,
                          .c = scores,
                          .ldc = kBlock};
  pair_product(product);
  if (!diagonal || keys <= kHalf) return;
  product.rows = keys - kHalf;
  product.columns = kHalf;
  product.a += kHalf * pairs;
  product.b += kHalf;
  product.c += kHalf * kBlock + kHalf;
  pair_product(product);
}

// sums[d][i] += sum over the keys j of transposed[d][j] · weights[j][i]; on the diagonal the later keys have
// no weight for the earlier queries.
HWY_INLINE void pair_sums(bool diagonal, int64_t keys, int64_t size, const uint32_t* transposed,
                          const uint32_t* weights, float* sums) {
  PairProductArgs product{.rows = size,
                          .columns = kBlock,
                          .pairs = pairs_in(keys),
                          .a = transposed,
                          .lda = kHalf,
                          .b = weights,
                          .ldb = kBlock,
                          .c = sums,
                          .ldc = kBlock,
                          .accumulate = true};
  if (diagonal) {
    product.columns = kHalf;
    product.pairs = pairs_in(std::min(keys, kHalf));
    pair_product(product);
    product.pairs = pairs_in(keys);
    product.b += kHalf;
    product.c += kHalf;
  }
  pair_product(product);
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
