#include "core/cpu/activation.h"

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"
#include "core/math/gelu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/activation.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// 2 sqrt(2/pi) (x + 0.044715 x^3), the argument of the logistic form (core/math/gelu.h).
HWY_INLINE VecF gelu_argument(VecF x) {
  return hn::Mul(x, hn::MulAdd(splat(kGeluCubic), hn::Mul(x, x), splat(kGeluLinear)));
}

void GeluForward(const GeluArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    const T* x = static_cast<const T*>(args.x);
    T* y = static_cast<T*>(args.out);
    pieces(begin, end, [&](int64_t i, auto count) HWY_ATTR {
      const VecF value = load(x + i, count);
      const VecF denominator = hn::Add(splat(1.0f), exp_of(hn::Neg(gelu_argument(value))));
      store(hn::Div(value, denominator), y + i, count);
    });
  });
}

void GeluBackward(const GeluArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    const T* x = static_cast<const T*>(args.x);
    const T* dy = static_cast<const T*>(args.dy);
    T* dx = static_cast<T*>(args.out);
    T* y = static_cast<T*>(args.y);
    pieces(begin, end, [&](int64_t i, auto count) HWY_ATTR {
      const VecF raw = load(x + i, count);
      const VecF limit = splat(kGeluSaturates);
      const VecF value = hn::IfThenElse(hn::Gt(hn::Abs(raw), limit), hn::CopySign(limit, raw), raw);
      const VecF s = sigmoid_of(gelu_argument(value));
      const VecF slope = hn::MulAdd(splat(3.0f * kGeluCubic), hn::Mul(value, value), splat(kGeluLinear));
      const VecF rise = hn::Mul(hn::Mul(value, slope), hn::Mul(s, hn::Sub(splat(1.0f), s)));
      const VecF upstream = load(dy + i, count);
      if (y != nullptr) store(hn::Mul(raw, s), y + i, count);
      store(hn::Mul(upstream, hn::Add(s, rise)), dx + i, count);
    });
  });
}

void SwigluForward(const SwigluArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const T* gate = static_cast<const T*>(args.gate_up) + row * 2 * args.ffn;
      const T* up = gate + args.ffn;
      T* y = static_cast<T*>(args.out) + row * args.ffn;
      pieces(0, args.ffn, [&](int64_t i, auto count) HWY_ATTR {
        const VecF g = load(gate + i, count);
        store(hn::Mul(hn::Mul(g, sigmoid_of(g)), load(up + i, count)), y + i, count);
      });
    }
  });
}

void SwigluBackward(const SwigluArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const T* gate = static_cast<const T*>(args.gate_up) + row * 2 * args.ffn;
      const T* up = gate + args.ffn;
      const T* dy = static_cast<const T*>(args.dy) + row * args.ffn;
      T* dgate = static_cast<T*>(args.out) + row * 2 * args.ffn;
      T* dup = dgate + args.ffn;
      T* y = args.y != nullptr ? static_cast<T*>(args.y) + row * args.ffn : nullptr;
      pieces(0, args.ffn, [&](int64_t i, auto count) HWY_ATTR {
        const VecF g = load(gate + i, count);
        const VecF u = load(up + i, count);
        const VecF d = load(dy + i, count);
        const VecF s = sigmoid_of(g);
        // silu'(g) = s (1 + g (1 - s))
        const VecF slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(splat(1.0f), s), splat(1.0f)));
        if (y != nullptr) store(hn::Mul(hn::Mul(g, s), u), y + i, count);
        store(hn::Mul(hn::Mul(d, u), slope), dgate + i, count);
        store(hn::Mul(d, hn::Mul(g, s)), dup + i, count);
      });
    }
  });
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(GeluForward);
HWY_EXPORT(GeluBackward);
HWY_EXPORT(SwigluForward);
HWY_EXPORT(SwigluBackward);

void gelu_forward(const GeluArgs& args, int threads) {
  require_compute_type(args.dtype, "gelu_forward");
  parallel_for(threads, args.n, kElementGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(GeluForward)(args, begin, end);
  });
}

void gelu_backward(const GeluArgs& args, int threads) {
  require_compute_type(args.dtype, "gelu_backward");
  parallel_for(threads, args.n, kElementGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(GeluBackward)(args, begin, end);
  });
}

void swiglu_forward(const SwigluArgs& args, int threads) {
  require_compute_type(args.dtype, "swiglu_forward");
  parallel_for(threads, args.rows, row_grain(args.ffn), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(SwigluForward)(args, begin, end);
  });
}

void swiglu_backward(const SwigluArgs& args, int threads) {
  require_compute_type(args.dtype, "swiglu_backward");
  parallel_for(threads, args.rows, row_grain(args.ffn), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(SwigluBackward)(args, begin, end);
  });
}

}  // namespace octant::cpu
#endif
