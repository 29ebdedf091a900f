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
    map<T, 1, 1>(begin, end, {static_cast<const T*>(args.x)}, {static_cast<T*>(args.out)},
                 [](const std::array<VecF, 1>& in) HWY_ATTR {
                   const auto denominator = hn::Add(splat(1.0f), exp_of(hn::Neg(gelu_argument(in[0]))));
                   return std::array{hn::Div(in[0], denominator)};
                 });
  });
}

struct GeluDerivative {
  VecF sigmoid, slope;  // y = x · sigmoid, y' = slope
};
HWY_INLINE GeluDerivative gelu_derivative(VecF x) {
  const VecF limit = splat(kGeluSaturates);
  const VecF value = hn::IfThenElse(hn::Gt(hn::Abs(x), limit), hn::CopySign(limit, x), x);
  const VecF s = sigmoid_of(gelu_argument(value));
  const VecF slope = hn::MulAdd(splat(3.0f * kGeluCubic), hn::Mul(value, value), splat(kGeluLinear));
  const VecF rise = hn::Mul(hn::Mul(value, slope), hn::Mul(s, hn::Sub(splat(1.0f), s)));
  return {s, hn::Add(s, rise)};
}

void GeluBackward(const GeluArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    const T* x = static_cast<const T*>(args.x);
    const T* dy = static_cast<const T*>(args.dy);
    T* dx = static_cast<T*>(args.out);
    T* y = static_cast<T*>(args.y);
    if (y == nullptr) {
      map<T, 2, 1>(begin, end, {x, dy}, {dx}, [](const std::array<VecF, 2>& in) HWY_ATTR {
        return std::array{hn::Mul(in[1], gelu_derivative(in[0]).slope)};
      });
      return;
    }
    map<T, 2, 2>(begin, end, {x, dy}, {dx, y}, [](const std::array<VecF, 2>& in) HWY_ATTR {
      const GeluDerivative at = gelu_derivative(in[0]);
      return std::array{hn::Mul(in[1], at.slope), hn::Mul(in[0], at.sigmoid)};
    });
  });
}

void SwigluForward(const SwigluArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const T* gate = static_cast<const T*>(args.gate_up) + row * 2 * args.ffn;
      T* y = static_cast<T*>(args.out) + row * args.ffn;
      map<T, 2, 1>(0, args.ffn, {gate, gate + args.ffn}, {y}, [](const std::array<VecF, 2>& in) HWY_ATTR {
        return std::array{hn::Mul(hn::Mul(in[0], sigmoid_of(in[0])), in[1])};
      });
    }
  });
}

// d gate, d up and y from gate, up and dy.
HWY_INLINE std::array<VecF, 3> swiglu_backward_of(const std::array<VecF, 3>& in) {
  const auto [g, u, d] = in;
  const VecF s = sigmoid_of(g);
  // silu'(g) = s (1 + g (1 - s))
  const VecF slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(splat(1.0f), s), splat(1.0f)));
  const VecF silu = hn::Mul(g, s);
  return {hn::Mul(hn::Mul(d, u), slope), hn::Mul(d, silu), hn::Mul(silu, u)};
}

void SwigluBackward(const SwigluArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const T* gate = static_cast<const T*>(args.gate_up) + row * 2 * args.ffn;
      const T* dy = static_cast<const T*>(args.dy) + row * args.ffn;
      const std::array in = {gate, gate + args.ffn, dy};
      T* dgate = static_cast<T*>(args.out) + row * 2 * args.ffn;
      T* dup = dgate + args.ffn;
      if (args.y == nullptr) {
        map<T, 3, 2>(0, args.ffn, in, {dgate, dup}, [](const std::array<VecF, 3>& values) HWY_ATTR {
          const std::array<VecF, 3> results = swiglu_backward_of(values);
          return std::array{results[0], results[1]};
        });
        continue;
      }
      T* y = static_cast<T*>(args.y) + row * args.ffn;
      map<T, 3, 3>(0, args.ffn, in, {dgate, dup, y},
                   [](const std::array<VecF, 3>& values) HWY_ATTR { return swiglu_backward_of(values); });
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
