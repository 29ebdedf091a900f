#include "core/cpu/random.h"

#include "core/cpu/parallel_for.h"
#include "core/math/normal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/random.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/contrib/math/math-inl.h>

#include "core/cpu/philox-inl.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// out[i] = standard_deviation · normal(key, first + i).
void fill_plainly(uint64_t key, uint64_t first, int64_t count, float standard_deviation, float* out) {
  for (int64_t i = 0; i < count;) {
    const uint64_t index = first + static_cast<uint64_t>(i);
    const NormalPair pair = normal_pair(key, index >> 1);
    if ((index & 1) == 0) out[i++] = standard_deviation * pair.even;
    // The pair's odd element, unless the range ends between the two.
    if (i < count) out[i++] = standard_deviation * pair.odd;
  }
}

#if HWY_TARGET == HWY_SCALAR
void NormalFill(const NormalFillArgs& args, int64_t begin, int64_t end) {
  fill_plainly(args.key, static_cast<uint64_t>(args.first_index + begin), end - begin,
               args.standard_deviation, args.out + begin);
}
#else

using F64 = hn::ScalableTag<double>;
using HalfF = hn::Rebind<float, F64>;
using HalfI = hn::Rebind<int32_t, F64>;

// The even and odd elements of as many pairs as doubles fill a vector, from the first two lanes of their
// blocks.
HWY_INLINE void normal_pairs(const uint32_t* lane0, const uint32_t* lane1, float* even, float* odd) {
  const F64 d;
  const HalfI di;
  const auto doubles = [&](const uint32_t* bits) HWY_ATTR {
    const hn::Rebind<uint32_t, F64> du;
    return hn::PromoteTo(d, hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(du, bits))));
  };
  const auto u1 = hn::Mul(hn::Add(doubles(lane0), hn::Set(d, 1.0)), hn::Set(d, 1.0 / 16777216.0));
  const auto u2 = hn::Mul(doubles(lane1), hn::Set(d, 1.0 / 16777216.0));
  const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, u1)));
  const auto angle = hn::Mul(hn::Set(d, 2.0 * std::numbers::pi), u2);
  hn::StoreU(hn::DemoteTo(HalfF(), hn::Mul(radius, hn::Cos(d, angle))), HalfF(), even);
  hn::StoreU(hn::DemoteTo(HalfF(), hn::Mul(radius, hn::Sin(d, angle))), HalfF(), odd);
}

void NormalFill(const NormalFillArgs& args, int64_t begin, int64_t end) {
  constexpr int64_t kPairs = HWY_LANES(double);
  const uint64_t first = static_cast<uint64_t>(args.first_index + begin);
  const int64_t count = end - begin;
  float* out = args.out + begin;
  const VecF scale = splat(args.standard_deviation);
  // From the start of a pair, whole vectors of pairs, then the rest.
  int64_t done = std::min<int64_t>(count, static_cast<int64_t>(first & 1));
  fill_plainly(args.key, first, done, args.standard_deviation, out);
  alignas(64) uint32_t lane0[kLanes], lane1[kLanes];
  alignas(64) float even[kLanes], odd[kLanes];
  for (; done + 2 * kLanes <= count; done += 2 * kLanes) {
    const uint64_t index = first + static_cast<uint64_t>(done), pair = index >> 1;
    if (counter_wraps(pair)) {
      fill_plainly(args.key, index, 2 * kLanes, args.standard_deviation, out + done);
      continue;
    }
    VecU c0, c1, c2, c3;
    philox_blocks(args.key, pair, c0, c1, c2, c3);
    hn::Store(c0, Bits32(), lane0);
    hn::Store(c1, Bits32(), lane1);
    for (int64_t i = 0; i < kLanes; i += kPairs) normal_pairs(lane0 + i, lane1 + i, even + i, odd + i);
    hn::StoreInterleaved2(hn::Mul(scale, hn::Load(F32(), even)), hn::Mul(scale, hn::Load(F32(), odd)), F32(),
                          out + done);
  }
  fill_plainly(args.key, first + static_cast<uint64_t>(done), count - done, args.standard_deviation,
               out + done);
}
#endif

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(NormalFill);

void normal_fill(const NormalFillArgs& args, int threads) {
  constexpr int64_t kGrain = 1024;
  parallel_for(threads, args.n, kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(NormalFill)(args, begin, end);
  });
}

}  // namespace octant::cpu
#endif
