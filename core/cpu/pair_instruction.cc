// Highway 1.0 has no bf16 dot product, so this one tile is written in intrinsics.
#include "core/cpu/pair_product.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define OCTANT_WITH_PAIRS __attribute__((target("avx512f,avx512bf16")))
#endif

namespace octant::cpu {

#if defined(__x86_64__)
namespace {

constexpr int64_t kVector = 16;

template <int kRows, int kVectors>
OCTANT_WITH_PAIRS inline void tile(const PairProductArgs& x, int64_t m, int64_t n) {
  const uint32_t* b = x.b + n;
  const uint32_t* a = x.a + m * x.lda;
  __m512 sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  for (int64_t p = 0; p < x.pairs; ++p) {
    __m512i right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = _mm512_loadu_si512(b + p * x.ldb + v * kVector);
    for (int r = 0; r < kRows; ++r) {
      const __m512i left = _mm512_set1_epi32(static_cast<int>(a[r * x.lda + p]));
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = _mm512_dpbf16_ps(sums[r][v], reinterpret_cast<__m512bh>(left),
                                      reinterpret_cast<__m512bh>(right[v]));
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* target = x.c + (m + r) * x.ldc + n + v * kVector;
      _mm512_storeu_ps(target,
                       x.accumulate ? _mm512_add_ps(_mm512_loadu_ps(target), sums[r][v]) : sums[r][v]);
    }
  }
}

template <int kVectors>
OCTANT_WITH_PAIRS inline void columns(const PairProductArgs& x, int64_t n) {
  int64_t m = 0;
  for (; m + 4 <= x.rows; m += 4) tile<4, kVectors>(x, m, n);
  for (; m < x.rows; ++m) tile<1, kVectors>(x, m, n);
}

}  // namespace

bool has_pair_instruction() {
  return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512f") != 0;
}

OCTANT_WITH_PAIRS void pair_product_by_instruction(const PairProductArgs& x) {
  int64_t n = 0;
  for (; n + 4 * kVector <= x.columns; n += 4 * kVector) columns<4>(x, n);
  for (; n + 2 * kVector <= x.columns; n += 2 * kVector) columns<2>(x, n);
  for (; n < x.columns; n += kVector) columns<1>(x, n);
}
#else
bool has_pair_instruction() {
  return false;
}

void pair_product_by_instruction(const PairProductArgs& x) {
  pair_product(x);
}
#endif

}  // namespace octant::cpu
