#include "core/cpu/rotary.h"

#include <fmt/format.h>

#include <cmath>

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"
#include "core/math/rotary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/rotary.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

void Rotary(const RotaryArgs& args, const float* table, int64_t begin, int64_t end) {
  const int64_t half = args.head_size / 2;
  const VecF direction = splat(args.inverse ? -1.0f : 1.0f);
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const float* cosines = table + row % args.sequence * args.head_size;
      const float* sines = cosines + half;
      for (int64_t head = 0; head < args.heads; ++head) {
        T* low = static_cast<T*>(args.x) + row * args.row_stride + head * args.head_size;
        T* high = low + half;
        pieces(0, half, [&](int64_t i, auto count) HWY_ATTR {
          const VecF c = load(cosines + i, count);
          const VecF s = hn::Mul(direction, load(sines + i, count));
          const VecF a = load(low + i, count);
          const VecF b = load(high + i, count);
          store(hn::NegMulAdd(b, s, hn::Mul(a, c)), low + i, count);
          store(hn::MulAdd(a, s, hn::Mul(b, c)), high + i, count);
        });
      }
    }
  });
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(Rotary);

const float* RotaryTable::rows(int64_t sequence, int64_t head_size, float base) {
  if (head_size != head_size_ || base != base_ || sequence > sequence_) {
    values_.resize(static_cast<size_t>(sequence * head_size));
    for (int64_t position = 0; position < sequence; ++position) {
      float* row = values_.data() + position * head_size;
      for (int64_t pair = 0; pair < head_size / 2; ++pair) {
        const double angle = rotary_angle(position, pair, head_size, base);
        row[pair] = static_cast<float>(std::cos(angle));
        row[head_size / 2 + pair] = static_cast<float>(std::sin(angle));
      }
    }
    sequence_ = sequence;
    head_size_ = head_size;
    base_ = base;
  }
  return values_.data();
}

void rotary(const RotaryArgs& args, int threads, RotaryTable& table) {
  require_compute_type(args.dtype, "rotary");
  if (args.head_size % 2 != 0) {
    throw BugError(fmt::format("rotary was given head_size={}; its halves turn together, so it must be even",
                               args.head_size));
  }
  if (args.rows == 0) return;
  const float* rows = table.rows(args.sequence, args.head_size, args.base);
  parallel_for(threads, args.rows, row_grain(args.heads * args.head_size), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(Rotary)(args, rows, begin, end);
  });
}

}  // namespace octant::cpu
#endif
