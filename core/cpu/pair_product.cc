#include "core/cpu/pair_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/pair_product.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

using VecPairs = hn::Vec<Bits32>;

HWY_INLINE VecF first_of(VecPairs pairs) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(pairs));
}
HWY_INLINE VecF second_of(VecPairs pairs) {
  return hn::BitCast(F32(), hn::And(pairs, hn::Set(Bits32(), 0xFFFF0000u)));
}

template <int kRows, int kVectors>
HWY_INLINE void pair_tile(const PairProductArgs& x, int64_t m, int64_t n) {
  VecF sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = splat(0.0f);
  }
  for (int64_t p = 0; p < x.pairs; ++p) {
    VecF first[kVectors], second[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const VecPairs pairs = hn::LoadU(Bits32(), x.b + p * x.ldb + n + v * kLanes);
      first[v] = first_of(pairs);
      second[v] = second_of(pairs);
    }
    for (int r = 0; r < kRows; ++r) {
      const VecPairs left = hn::Set(Bits32(), x.a[(m + r) * x.lda + p]);
      const VecF left_first = first_of(left), left_second = second_of(left);
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(left_first, first[v], sums[r][v]);
        sums[r][v] = hn::MulAdd(left_second, second[v], sums[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* target = x.c + (m + r) * x.ldc + n + v * kLanes;
      store(x.accumulate ? hn::Add(load(target, Whole()), sums[r][v]) : sums[r][v], target, Whole());
    }
  }
}

template <int kVectors>
HWY_INLINE void pair_columns(const PairProductArgs& x, int64_t n) {
  int64_t m = 0;
  for (; m + 4 <= x.rows; m += 4) pair_tile<4, kVectors>(x, m, n);
  for (; m < x.rows; ++m) pair_tile<1, kVectors>(x, m, n);
}

void PairProduct(const PairProductArgs& x) {
  constexpr int kVectors = kLanes >= 16 ? 4 : 2;
  int64_t n = 0;
  for (; n + kVectors * kLanes <= x.columns; n += kVectors * kLanes) pair_columns<kVectors>(x, n);
  for (; n + 2 * kLanes <= x.columns; n += 2 * kLanes) pair_columns<2>(x, n);
  for (; n < x.columns; n += kLanes) pair_columns<1>(x, n);
}

int64_t WidestVector() {
  return kLanes;
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(PairProduct);
HWY_EXPORT(WidestVector);

bool uses_pair_instruction() {
  static const bool has = has_pair_instruction();
  return has && HWY_DYNAMIC_DISPATCH(WidestVector)() == 16;
}

void pair_product(const PairProductArgs& args) {
  if (uses_pair_instruction()) {
    pair_product_by_instruction(args);
  } else {
    HWY_DYNAMIC_DISPATCH(PairProduct)(args);
  }
}

}  // namespace octant::cpu
#endif
