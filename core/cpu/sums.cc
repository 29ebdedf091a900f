#include "core/cpu/sums.h"

#include <algorithm>
#include <type_traits>

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/sums.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/columns-inl.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

void BiasGradient(const BiasGradientArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dy.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    const T* dy = static_cast<const T*>(args.dy.data);
    add_column_sums<1>(args.dy.rows, begin, end, {args.dbias}, args.dbias_dtype, args.accumulate,
                       [&](int64_t row, int64_t column, auto count)
                           HWY_ATTR { return std::array{load(dy + row * args.dy.ld + column, count)}; });
  });
}

// Sum of squares of the n elements at x. Element i goes to partial sum i mod 16 and the partial sums are
// added in pairs, whatever the vector width; the square of a float is exact in double. So every instruction
// set gives the same bits.
template <typename T>
double squares_of(const T* x, int64_t n) {
  constexpr int64_t kPartials = 16;
  using F64 = hn::ScalableTag<double>;
  const F64 d64;
  const hn::Rebind<float, F64> d32;
  constexpr int64_t kDoubles = HWY_LANES(double);
  constexpr int64_t kVectors = kPartials / kDoubles;
  hn::Vec<F64> sums[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d64);
  alignas(64) float buffer[kPartials];
  for (int64_t i = 0; i < n; i += kPartials) {
    const int64_t count = std::min(kPartials, n - i);
    fetch_ahead(x + i);
    const float* from = buffer;
    if (std::is_same_v<T, float> && count == kPartials) {
      from = reinterpret_cast<const float*>(x + i);
    } else {
      if (count < kPartials) std::fill_n(buffer, kPartials, 0.0f);
      pieces(0, count,
             [&](int64_t j, auto lanes) HWY_ATTR { store(load(x + i + j, lanes), buffer + j, lanes); });
    }
    for (int64_t v = 0; v < kVectors; ++v) {
      const auto wide = hn::PromoteTo(d64, hn::LoadU(d32, from + v * kDoubles));
      sums[v] = hn::MulAdd(wide, wide, sums[v]);
    }
  }
  alignas(64) double partials[kPartials];
  for (int64_t v = 0; v < kVectors; ++v) hn::Store(sums[v], d64, partials + v * kDoubles);
  for (int64_t width = kPartials / 2; width > 0; width /= 2) {
    for (int64_t i = 0; i < width; ++i) partials[i] += partials[i + width];
  }
  return partials[0];
}

double SumSquares(const SumSquaresArgs& args, int64_t begin, int64_t end) {
  double sum = 0;
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    sum = squares_of(static_cast<const T*>(args.x) + begin, end - begin);
  });
  return sum;
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(BiasGradient);
HWY_EXPORT(SumSquares);

void bias_gradient(const BiasGradientArgs& args, int threads) {
  require_compute_type(args.dy.dtype, "bias_gradient");
  require_compute_type(args.dbias_dtype, "bias_gradient");
  parallel_for(threads, args.dy.cols, row_grain(args.dy.rows), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(BiasGradient)(args, begin, end);
  });
}

void sum_squares(const SumSquaresArgs& args, int threads, Scratch& scratch) {
  require_compute_type(args.dtype, "sum_squares");
  // Chunks of a fixed size, added in order: the sum knows nothing of the threads.
  const int64_t chunks = (args.n + kElementGrain - 1) / kElementGrain;
  double* sums = static_cast<double*>(scratch.reserve(chunks * static_cast<int64_t>(sizeof(double))));
  parallel_for(threads, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * kElementGrain;
      sums[chunk] = HWY_DYNAMIC_DISPATCH(SumSquares)(args, first, std::min(args.n, first + kElementGrain));
    }
  });
  double total = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) total += sums[chunk];
  *args.out += total;
}

}  // namespace octant::cpu
#endif
