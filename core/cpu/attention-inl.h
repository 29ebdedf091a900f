// What the two directions of attention share: the block product and the packing of queries into lanes.
#if defined(OCTANT_CORE_CPU_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OCTANT_CORE_CPU_ATTENTION_INL_H_
#undef OCTANT_CORE_CPU_ATTENTION_INL_H_
#else
#define OCTANT_CORE_CPU_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "core/cpu/attention.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

inline constexpr int64_t kBlock = 64;  // queries and keys of a block
inline constexpr int64_t kHalf = kBlock / 2;
inline constexpr int64_t kWidthStep =
    16;  // floats of the widest vector: rows of a block product are padded to it

inline int64_t padded_width(int64_t size) {
  return (size + kWidthStep - 1) / kWidthStep * kWidthStep;
}

// c[m][n] (+)= sum over k of a[m * row + k * step] · b[k][n] for `kRows` rows and `kVectors` vectors.
template <int kRows, int kVectors, bool kAccumulate>
HWY_INLINE void block_tile(int64_t inner, const float* a, int64_t row, int64_t step, const float* b,
                           int64_t ldb, float* c, int64_t ldc) {
  VecF sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = splat(0.0f);
  }
  for (int64_t k = 0; k < inner; ++k) {
    VecF right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = load(b + k * ldb + v * kLanes, Whole());
    for (int r = 0; r < kRows; ++r) {
      const VecF left = splat(a[r * row + k * step]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* target = c + r * ldc + v * kLanes;
      store(kAccumulate ? hn::Add(load(target, Whole()), sums[r][v]) : sums[r][v], target, Whole());
    }
  }
}

template <int kVectors, bool kAccumulate>
HWY_INLINE void block_columns(int64_t rows, int64_t inner, const float* a, int64_t row, int64_t step,
                              const float* b, int64_t ldb, float* c, int64_t ldc) {
  int64_t m = 0;
  for (; m + 4 <= rows; m += 4) {
    block_tile<4, kVectors, kAccumulate>(inner, a + m * row, row, step, b, ldb, c + m * ldc, ldc);
  }
  for (; m < rows; ++m)
    block_tile<1, kVectors, kAccumulate>(inner, a + m * row, row, step, b, ldb, c + m * ldc, ldc);
}

// The same for any number of rows and `cols` columns, a multiple of kWidthStep. An element's sum runs over k
// in order.
template <bool kAccumulate>
HWY_NOINLINE void block_product(int64_t rows, int64_t cols, int64_t inner, const float* a, int64_t row,
                                int64_t step, const float* b, int64_t ldb, float* c, int64_t ldc) {
  constexpr int kVectors = kLanes >= 16 ? 4 : 2;
  int64_t n = 0;
  for (; n + kVectors * kLanes <= cols; n += kVectors * kLanes) {
    block_columns<kVectors, kAccumulate>(rows, inner, a, row, step, b + n, ldb, c + n, ldc);
  }
  for (; n + 2 * kLanes <= cols; n += 2 * kLanes)
    block_columns<2, kAccumulate>(rows, inner, a, row, step, b + n, ldb, c + n, ldc);
  for (; n < cols; n += kLanes)
    block_columns<1, kAccumulate>(rows, inner, a, row, step, b + n, ldb, c + n, ldc);
}

// The scores of a block whose keys begin where its queries do: those of the later keys with the earlier
// queries, a quarter, are not computed.
HWY_INLINE void diagonal_scores(int64_t keys, int64_t inner, const float* k, int64_t stride,
                                const float* lanes, float* scores) {
  block_product<false>(std::min(keys, kHalf), kBlock, inner, k, stride, 1, lanes, kBlock, scores, kBlock);
  if (keys > kHalf) {
    block_product<false>(keys - kHalf, kHalf, inner, k + kHalf * stride, stride, 1, lanes + kHalf, kBlock,
                         scores + kHalf * kBlock + kHalf, kBlock);
  }
}

// In such a block: `value` for every key j and the queries before it.
HWY_INLINE void mask_diagonal(int64_t keys, float value, float* scores) {
  const VecF masked = splat(value);
  for (int64_t j = 1; j < keys; ++j) {
    float* row = scores + j * kBlock;
    pieces(0, j, [&](int64_t i, auto count) HWY_ATTR {
      store(keep_first(masked, load(row + i, Whole()), count), row + i, Whole());
    });
  }
}

// sums[d][i] += sum over the keys j of weights[j][i] · v[j][d] in such a block, where the later keys have no
// weight for the earlier queries.
HWY_INLINE void diagonal_sums(int64_t keys, int64_t size, const float* v, int64_t stride,
                              const float* weights, float* sums) {
  block_product<true>(size, kHalf, std::min(keys, kHalf), v, 1, stride, weights, kBlock, sums, kBlock);
  block_product<true>(size, kHalf, keys, v, 1, stride, weights + kHalf, kBlock, sums + kHalf, kBlock);
}

// to[i][0, width) = factor · from[i][0, width) in f32, with zeros up to `ld`.
template <typename T>
HWY_INLINE void widen_rows(const T* from, int64_t stride, int64_t rows, int64_t width, float factor,
                           float* to, int64_t ld) {
  for (int64_t i = 0; i < rows; ++i) {
    const T* source = from + i * stride;
    float* target = to + i * ld;
    pieces(0, width, [&](int64_t j, auto count) HWY_ATTR {
      store(hn::Mul(load(source + j, count), splat(factor)), target + j, count);
    });
    std::fill(target + width, target + ld, 0.0f);
  }
}

template <typename T>
HWY_INLINE void narrow_rows(const float* from, int64_t ld, int64_t rows, int64_t width, T* to,
                            int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    pieces(0, width, [&](int64_t d, auto count) HWY_ATTR {
      store(load(from + i * ld + d, count), to + i * stride + d, count);
    });
  }
}

// to[c][r] = from[r][c] for 32-bit elements.
template <typename T>
HWY_INLINE void transpose(const T* from, int64_t ld_from, int64_t rows, int64_t cols, T* to, int64_t ld_to) {
  static_assert(sizeof(T) == 4);
  int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  // Four by four, in vectors of four.
  const hn::FixedTag<T, 4> d;
  const hn::Repartition<uint64_t, decltype(d)> pairs;
  for (; r + 4 <= rows; r += 4) {
    const T* row = from + r * ld_from;
    int64_t c = 0;
    for (; c + 4 <= cols; c += 4) {
      const auto r0 = hn::LoadU(d, row + c), r1 = hn::LoadU(d, row + ld_from + c);
      const auto r2 = hn::LoadU(d, row + 2 * ld_from + c), r3 = hn::LoadU(d, row + 3 * ld_from + c);
      const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
      const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
      const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
      const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
      T* target = to + c * ld_to + r;
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, target);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, target + ld_to);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, target + 2 * ld_to);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, target + 3 * ld_to);
    }
    for (; c < cols; ++c) {
      for (int64_t i = 0; i < 4; ++i) to[c * ld_to + r + i] = row[i * ld_from + c];
    }
  }
#endif
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) to[c * ld_to + r] = from[r * ld_from + c];
  }
}

// to[d][i] = from[i][d] for i < rows, zeros in the lanes up to kBlock.
HWY_INLINE void transpose_to_lanes(const float* from, int64_t ld, int64_t rows, int64_t width, float* to) {
  transpose(from, ld, rows, width, to, kBlock);
  for (int64_t d = 0; d < width; ++d) std::fill(to + d * kBlock + rows, to + (d + 1) * kBlock, 0.0f);
}

// What a larger maximum makes of the sums before it: lanes[d][i] *= rescale[i].
HWY_INLINE void rescale_lanes(int64_t size, const float* rescale, float* lanes) {
  for (int64_t d = 0; d < size; ++d) {
    for (int64_t i = 0; i < kBlock; i += kLanes) {
      float* at = lanes + d * kBlock + i;
      store(hn::Mul(load(at, Whole()), load(rescale + i, Whole())), at, Whole());
    }
  }
}

// out[i][d] = lanes[d][i] / sums[i]; `rows` holds kBlock rows of `size`.
template <typename T>
HWY_INLINE void write_output(const float* lanes, int64_t queries, int64_t size, const float* sums,
                             float* rows, T* out, int64_t stride) {
  transpose(lanes, kBlock, size, queries, rows, size);
  for (int64_t i = 0; i < queries; ++i) {
    const VecF sum = splat(sums[i]);
    pieces(0, size, [&](int64_t d, auto count) HWY_ATTR {
      store(hn::Div(load(rows + i * size + d, count), sum), out + i * stride + d, count);
    });
  }
}

// The sum over d of a[d] · b[d].
template <typename T>
HWY_INLINE float row_product(const T* a, const T* b, int64_t size) {
  return sum_of(
      size, [&](int64_t d, auto count) HWY_ATTR { return hn::Mul(load(a + d, count), load(b + d, count)); });
}

// Rows of keys or values in f32: the tensor itself, or a widened copy in `buffer` of `width` floats a row.
struct WideRows {
  const float* data;
  int64_t stride;
};
template <typename T>
HWY_INLINE WideRows wide_rows(const T* from, int64_t stride, int64_t rows, int64_t width, float* buffer) {
  if constexpr (std::is_same_v<T, float>) {
    return {from, stride};
  } else {
    widen_rows(from, stride, rows, width, 1.0f, buffer, width);
    return {buffer, width};
  }
}

// Hands out pieces of one worker's scratch memory, each starting on a cache line; without memory it only
// counts.
class Carver {
 public:
  explicit Carver(float* start) : start_(start) {}
  float* take(int64_t floats) {
    float* piece = start_ == nullptr ? nullptr : start_ + taken_;
    taken_ += padded_width(floats);
    return piece;
  }
  uint32_t* take_pairs(int64_t pairs) { return reinterpret_cast<uint32_t*>(take(pairs)); }
  int64_t taken() const { return taken_; }

 private:
  float* start_;
  int64_t taken_ = 0;
};

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
