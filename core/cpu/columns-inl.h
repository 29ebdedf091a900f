// Sums over rows, a column at a time: gradients of biases and of the weights of norms.
#if defined(OCTANT_CORE_CPU_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OCTANT_CORE_CPU_COLUMNS_INL_H_
#undef OCTANT_CORE_CPU_COLUMNS_INL_H_
#else
#define OCTANT_CORE_CPU_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/cpu/float_types.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// outs[k][j] (+)= sum over rows of the k-th value that f(row, j, count) gives, for the columns [begin, end):
// summed in f32 and row order from zero, then written or added with one rounding. f gives a std::array of
// kOuts vectors. The columns go in strips, so that a row is read a few cache lines at a time, and a few rows
// are added before the sums are put down.
template <size_t kOuts, typename F>
HWY_INLINE void add_column_sums(int64_t rows, int64_t begin, int64_t end,
                                const std::array<void*, kOuts>& outs, DType out_dtype, bool accumulate,
                                const F& f) {
  constexpr int64_t kStrip = 256;
  constexpr int64_t kRows = 8;
  alignas(64) float sums[kOuts][kStrip];
  for (int64_t strip = begin; strip < end; strip += kStrip) {
    const int64_t width = std::min(kStrip, end - strip);
    for (size_t k = 0; k < kOuts; ++k) std::fill_n(sums[k], kStrip, 0.0f);
    const auto add_rows = [&](int64_t first, auto number) HWY_ATTR {
      pieces(0, width, [&](int64_t j, auto count) HWY_ATTR {
        VecF sum[kOuts];
        for (size_t k = 0; k < kOuts; ++k) sum[k] = load(sums[k] + j, Whole());
        for (int64_t row = first; row < first + number; ++row) {
          const auto values = f(row, strip + j, count);
          for (size_t k = 0; k < kOuts; ++k) sum[k] = hn::Add(sum[k], values[k]);
        }
        for (size_t k = 0; k < kOuts; ++k) store(sum[k], sums[k] + j, Whole());
      });
    };
    int64_t row = 0;
    for (; row + kRows <= rows; row += kRows) add_rows(row, std::integral_constant<int64_t, kRows>());
    for (; row < rows; ++row) add_rows(row, std::integral_constant<int64_t, 1>());
    with_compute_type(out_dtype, [&](auto type) HWY_ATTR {
      using T = decltype(type);
      for (size_t k = 0; k < kOuts; ++k) {
        T* target = static_cast<T*>(outs[k]) + strip;
        pieces(0, width, [&](int64_t j, auto count) HWY_ATTR {
          const VecF sum = load(sums[k] + j, Whole());
          store(accumulate ? hn::Add(load(target + j, count), sum) : sum, target + j, count);
        });
      }
    });
  }
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
