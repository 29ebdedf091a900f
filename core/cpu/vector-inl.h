// What every vector kernel shares: whole and partial loads and stores through f32, exp, and sums of fixed
// order.
//
// Included once for each instruction set (Highway's foreach_target), hence the toggled guard. A loop over a
// range runs `pieces`: its body gets Whole for full vectors and a count for the last, shorter one, and the
// same arithmetic serves both, so an element has the same bits wherever its range was cut. A partial load
// fills the missing lanes with zeros.
#if defined(OCTANT_CORE_CPU_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OCTANT_CORE_CPU_VECTOR_INL_H_
#undef OCTANT_CORE_CPU_VECTOR_INL_H_
#else
#define OCTANT_CORE_CPU_VECTOR_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/math/float16.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using VecF = hn::Vec<F32>;
using Bits16 = hn::Rebind<uint16_t, F32>;
using Bits32 = hn::Rebind<uint32_t, F32>;
inline constexpr int64_t kLanes = HWY_LANES(float);

// The count of a full vector, known to the compiler.
struct Whole {
  constexpr operator int64_t() const { return kLanes; }
};

HWY_INLINE VecF splat(float value) {
  return hn::Set(F32(), value);
}

HWY_INLINE VecF load(const float* p, Whole) {
  return hn::LoadU(F32(), p);
}
HWY_INLINE void store(VecF v, float* p, Whole) {
  hn::StoreU(v, F32(), p);
}

HWY_INLINE VecF load(const BFloat16* p, Whole) {
  const auto bits = hn::LoadU(Bits16(), &p->bits);
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(Bits32(), bits)));
}
// The bits of v with those of its BFloat16 in the upper half: rounded to nearest even, a NaN made quiet.
HWY_INLINE hn::Vec<Bits32> rounded_to_bf16(VecF v) {
  const Bits32 d;
  const auto bits = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFFu)));
  const auto quiet = hn::Or(bits, hn::Set(d, 0x400000u));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), quiet, rounded);
}
HWY_INLINE void store(VecF v, BFloat16* p, Whole) {
  const auto chosen = hn::ShiftRight<16>(rounded_to_bf16(v));
#if HWY_TARGET == HWY_SCALAR
  p->bits = static_cast<uint16_t>(hn::GetLane(chosen));
#else
  hn::StoreU(hn::TruncateTo(Bits16(), chosen), Bits16(), &p->bits);
#endif
}

// Processors with AVX2 convert Float16; elsewhere the scalar functions do, lane by lane.
HWY_INLINE VecF load(const Float16* p, Whole) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  alignas(64) float lanes[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) lanes[i] = widen(p[i]);
  return hn::Load(F32(), lanes);
#else
  const hn::Rebind<hwy::float16_t, F32> d;
  return hn::PromoteTo(F32(), hn::BitCast(d, hn::LoadU(Bits16(), &p->bits)));
#endif
}
HWY_INLINE void store(VecF v, Float16* p, Whole) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  alignas(64) float lanes[kLanes];
  hn::Store(v, F32(), lanes);
  for (int64_t i = 0; i < kLanes; ++i) p[i] = narrow<Float16>(lanes[i]);
#else
  const hn::Rebind<hwy::float16_t, F32> d;
  hn::StoreU(hn::BitCast(Bits16(), hn::DemoteTo(d, v)), Bits16(), &p->bits);
#endif
}

template <typename T>
HWY_INLINE VecF load(const T* p, int64_t count) {
  alignas(64) T buffer[kLanes] = {};
  std::memcpy(buffer, p, static_cast<size_t>(count) * sizeof(T));
  return load(buffer, Whole());
}
template <typename T>
HWY_INLINE void store(VecF v, T* p, int64_t count) {
  alignas(64) T buffer[kLanes];
  store(v, buffer, Whole());
  std::memcpy(p, buffer, static_cast<size_t>(count) * sizeof(T));
}

// Has what a loop over x reads next fetched, even past its end: the processor's own prefetching stops at
// every page of 4 KiB, which costs a loop that does nothing but read and write memory 8 %.
template <typename T>
HWY_INLINE void fetch_ahead(const T* x) {
  constexpr int64_t kAhead = 3072;  // bytes
  hwy::Prefetch(reinterpret_cast<const std::byte*>(x) + kAhead);
}

// v where the lane is one of the first `count`, else `other`.
HWY_INLINE VecF keep_first(VecF v, VecF, Whole) {
  return v;
}
HWY_INLINE VecF keep_first(VecF v, VecF other, int64_t count) {
  return hn::IfThenElse(hn::FirstN(F32(), static_cast<size_t>(count)), v, other);
}

// f(i, count) for the consecutive pieces of [begin, end).
template <typename F>
HWY_INLINE void pieces(int64_t begin, int64_t end, const F& f) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) f(i, Whole());
  if (i < end) f(i, end - i);
}

// out[k][i] = f(values)[k] for i in [begin, end), where values are the in[..][i]; an output may be an input.
// No element knows its lane: of BFloat16 two vectors hold those of even and of odd index, which a shift and a
// mask take out of whole words.
template <typename T, size_t kIn, size_t kOut, typename F>
HWY_INLINE void map(int64_t begin, int64_t end, const std::array<const T*, kIn>& in,
                    const std::array<T*, kOut>& out, const F& f) {
  int64_t i = begin;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, BFloat16>) {
    const Bits32 d;
    const auto upper = hn::Set(d, 0xFFFF0000u);
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      std::array<VecF, kIn> even, odd;
      for (size_t k = 0; k < kIn; ++k) {
        const auto words = hn::LoadU(d, reinterpret_cast<const uint32_t*>(in[k] + i));
        even[k] = hn::BitCast(F32(), hn::ShiftLeft<16>(words));
        odd[k] = hn::BitCast(F32(), hn::And(words, upper));
      }
      const std::array<VecF, kOut> low = f(even), high = f(odd);
      for (size_t k = 0; k < kOut; ++k) {
        const auto words =
            hn::Or(hn::ShiftRight<16>(rounded_to_bf16(low[k])), hn::And(rounded_to_bf16(high[k]), upper));
        hn::StoreU(words, d, reinterpret_cast<uint32_t*>(out[k] + i));
      }
    }
  }
#endif
  pieces(i, end, [&](int64_t at, auto count) HWY_ATTR {
    std::array<VecF, kIn> values;
    for (size_t k = 0; k < kIn; ++k) values[k] = load(in[k] + at, count);
    const std::array<VecF, kOut> results = f(values);
    for (size_t k = 0; k < kOut; ++k) store(results[k], out[k] + at, count);
  });
}

// Sum of the n values that f(i, count) gives as vectors, in an order that depends on n alone.
template <typename F>
HWY_INLINE float sum_of(int64_t n, const F& f) {
  VecF s0 = splat(0.0f), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    s0 = hn::Add(s0, f(i, Whole()));
    s1 = hn::Add(s1, f(i + kLanes, Whole()));
    s2 = hn::Add(s2, f(i + 2 * kLanes, Whole()));
    s3 = hn::Add(s3, f(i + 3 * kLanes, Whole()));
  }
  for (; i + kLanes <= n; i += kLanes) s0 = hn::Add(s0, f(i, Whole()));
  if (i < n) s1 = hn::Add(s1, keep_first(f(i, n - i), splat(0.0f), n - i));
  return hn::GetLane(hn::SumOfLanes(F32(), hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// The same of two values at once: f gives a std::array of two vectors.
template <typename F>
HWY_INLINE std::array<float, 2> sums_of(int64_t n, const F& f) {
  constexpr int64_t kParts = 4;
  VecF sums[2][kParts];
  for (VecF(&of)[kParts] : sums)
    for (VecF& part : of) part = splat(0.0f);
  const auto add = [&](int64_t part, const std::array<VecF, 2>& values) HWY_ATTR {
    for (size_t k = 0; k < 2; ++k) sums[k][part] = hn::Add(sums[k][part], values[k]);
  };
  int64_t i = 0;
  for (; i + kParts * kLanes <= n; i += kParts * kLanes)
    for (int64_t part = 0; part < kParts; ++part) add(part, f(i + part * kLanes, Whole()));
  for (; i + kLanes <= n; i += kLanes) add(0, f(i, Whole()));
  if (i < n) {
    const std::array<VecF, 2> last = f(i, n - i);
    add(1, {keep_first(last[0], splat(0.0f), n - i), keep_first(last[1], splat(0.0f), n - i)});
  }
  std::array<float, 2> totals;
  for (size_t k = 0; k < 2; ++k)
    totals[k] = hn::GetLane(
        hn::SumOfLanes(F32(), hn::Add(hn::Add(sums[k][0], sums[k][1]), hn::Add(sums[k][2], sums[k][3]))));
  return totals;
}

// The larger of two; a NaN on either side stays.
HWY_INLINE VecF max_or_nan(VecF a, VecF b) {
  const VecF larger = hn::IfThenElse(hn::Gt(a, b), a, b);
  return hn::IfThenElse(hn::IsNaN(a), a, larger);
}

// x, but no less than `low` or no more than `high`; a NaN stays. The processor's own maximum and minimum give
// their second operand where one is a NaN.
HWY_INLINE VecF at_least(VecF low, VecF x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(low, x);
#else
  return hn::IfThenElse(hn::Lt(x, low), low, x);
#endif
}
HWY_INLINE VecF at_most(VecF high, VecF x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Min(high, x);
#else
  return hn::IfThenElse(hn::Gt(x, high), high, x);
#endif
}

// e^x within about one unit in the last place for the x whose result is a normal number: 0 below -87.4,
// infinity above 88.4, NaN kept. With x = n ln 2 + r, |r| <= ln(2)/2, the polynomial is the single-precision
// one of the Cephes library (Moshier 1989). At the two limits n is -127 and 128, whose exponent fields are
// those of 0 and infinity.
HWY_INLINE VecF exp_of(VecF x) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const VecF limited = at_most(splat(88.7f), at_least(splat(-88.0f), x));
  // 1.5 * 2^23 leaves a sum no bits for a fraction: it is rounded, and its lowest bits are n as an integer.
  const VecF shifter = splat(12582912.0f);
  const VecF shifted = hn::MulAdd(limited, splat(1.44269504088896341f), shifter);
  const VecF n = hn::Sub(shifted, shifter);
  VecF r = hn::NegMulAdd(n, splat(0.693359375f), limited);
  r = hn::NegMulAdd(n, splat(-2.12194440e-4f), r);
  VecF p = splat(1.9875691500e-4f);
  p = hn::MulAdd(p, r, splat(1.3981999507e-3f));
  p = hn::MulAdd(p, r, splat(8.3334519073e-3f));
  p = hn::MulAdd(p, r, splat(4.1665795894e-2f));
  p = hn::MulAdd(p, r, splat(1.6666665459e-1f));
  p = hn::MulAdd(p, r, splat(5.0000001201e-1f));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), splat(1.0f));
  // A NaN is still in p, whatever its exponent becomes.
  const auto exponent = hn::Add(hn::BitCast(di, shifted), hn::Set(di, 127));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(exponent)));
}

// 1 / (1 + e^-x).
HWY_INLINE VecF sigmoid_of(VecF x) {
  const VecF one = splat(1.0f);
  return hn::Div(one, hn::Add(one, exp_of(hn::Neg(x))));
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
