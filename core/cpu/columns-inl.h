// Sums over rows, a column at a time: gradients of biases and of the weights of norms.
#if defined(OCTANT_CORE_CPU_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OCTANT_CORE_CPU_COLUMNS_INL_H_
#undef OCTANT_CORE_CPU_COLUMNS_INL_H_
#else
#define OCTANT_CORE_CPU_COLUMNS_INL_H_
#endif

#include <algorithm>

#include "core/cpu/float_types.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// out[j] (+)= sum over rows of f(row, j, count) for the columns [begin, end): summed in f32 and row order
// from zero, then written or added to out with one rounding. The columns go in strips, so that a row is read a few cache
// lines at a time.
template <typename F>
HWY_INLINE void add_column_sums(int64_t rows, int64_t begin, int64_t end, void* out, DType out_dtype,
                                bool accumulate, const F& f) {
  constexpr int64_t kStrip = 256;
  alignas(64) float sums[kStrip];
  for (int64_t strip = begin; strip < end; strip += kStrip) {
    const int64_t width = std::min(kStrip, end - strip);
    std::fill_n(sums, kStrip, 0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      pieces(0, width, [&](int64_t j, auto count) HWY_ATTR {
        store(hn::Add(load(sums + j, count), f(row, strip + j, count)), sums + j, count);
      });
    }
    with_compute_type(out_dtype, [&](auto type) HWY_ATTR {
      using T = decltype(type);
      T* target = static_cast<T*>(out) + strip;
      pieces(0, width, [&](int64_t j, auto count) HWY_ATTR {
        const VecF sum = load(sums + j, count);
        store(accumulate ? hn::Add(load(target + j, count), sum) : sum, target + j, count);
      });
    });
  }
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
