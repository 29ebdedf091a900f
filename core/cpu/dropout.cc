#include "core/cpu/dropout.h"

#include <algorithm>

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"
#include "core/math/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/dropout.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/philox-inl.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// Columns [begin, begin + count) of one row, whose first element of the batch is `element`; `bits` are their
// random numbers.
template <typename T>
HWY_INLINE void dropout_strip(const T* x, const T* residual, T* y, const uint32_t* bits, int64_t width,
                              float probability) {
  const VecF scale = splat(dropout_scale(probability));
  const VecF limit = splat(probability);
  pieces(0, width, [&](int64_t j, auto count) HWY_ATTR {
    const hn::RebindToSigned<F32> di;
    alignas(64) uint32_t strip[kLanes] = {};
    std::copy_n(bits + j, static_cast<int64_t>(count), strip);
    const auto upper = hn::ShiftRight<8>(hn::Load(Bits32(), strip));
    const VecF uniform = hn::Mul(hn::ConvertTo(F32(), hn::BitCast(di, upper)), splat(1.0f / 16777216.0f));
    const VecF factor = hn::IfThenElseZero(hn::Ge(uniform, limit), scale);
    const VecF kept = hn::Mul(load(x + j, count), factor);
    store(residual == nullptr ? kept : hn::Add(load(residual + j, count), kept), y + j, count);
  });
}

void Dropout(const DropoutArgs& args, int64_t begin, int64_t end) {
  constexpr int64_t kStrip = 512;
  alignas(64) uint32_t bits[kStrip];
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t token = args.first_row + row;
      const uint64_t first = dropout_element(args.sample_ids[token / args.sequence], args.sequence,
                                             token % args.sequence, args.cols, 0);
      for (int64_t column = 0; column < args.cols; column += kStrip) {
        const int64_t width = std::min(kStrip, args.cols - column);
        random_bits(args.key, first + static_cast<uint64_t>(column), width, bits);
        const int64_t at = row * args.cols + column;
        const T* residual = args.residual == nullptr ? nullptr : static_cast<const T*>(args.residual) + at;
        dropout_strip(static_cast<const T*>(args.x) + at, residual, static_cast<T*>(args.y) + at, bits, width,
                      args.probability);
      }
    }
  });
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(Dropout);

void dropout(const DropoutArgs& args, int threads) {
  require_compute_type(args.dtype, "dropout");
  parallel_for(threads, args.rows, row_grain(args.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(Dropout)(args, begin, end);
  });
}

}  // namespace octant::cpu
#endif
