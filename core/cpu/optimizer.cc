#include "core/cpu/optimizer.h"

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/optimizer.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

void Adamw(const AdamwArgs& args, int64_t begin, int64_t end) {
  const VecF scale = splat(args.gradient_scale), rate = splat(args.learning_rate);
  const VecF beta1 = splat(args.beta1), rest1 = splat(1.0f - args.beta1);
  const VecF beta2 = splat(args.beta2), rest2 = splat(1.0f - args.beta2);
  const VecF correction1 = splat(args.bias_correction1), correction2 = splat(args.bias_correction2);
  const VecF epsilon = splat(args.epsilon), decay = splat(args.weight_decay);
  with_compute_type(args.gradient_dtype, [&](auto gradient_type) HWY_ATTR {
    using G = decltype(gradient_type);
    const G* gradient = static_cast<const G*>(args.gradient);
    with_compute_type(args.parameters_dtype, [&](auto parameter_type) HWY_ATTR {
      using P = decltype(parameter_type);
      P* parameters = static_cast<P*>(args.parameters);
      pieces(begin, end, [&](int64_t i, auto count) HWY_ATTR {
        fetch_ahead(gradient + i);
        for (const float* state : {args.exp_avg, args.exp_avg_sq, args.master}) fetch_ahead(state + i);
        const VecF g = hn::Mul(scale, load(gradient + i, count));
        const VecF m = hn::MulAdd(beta1, load(args.exp_avg + i, count), hn::Mul(rest1, g));
        const VecF v = hn::MulAdd(beta2, load(args.exp_avg_sq + i, count), hn::Mul(rest2, hn::Mul(g, g)));
        const VecF denominator = hn::Add(hn::Sqrt(hn::Div(v, correction2)), epsilon);
        const VecF w = load(args.master + i, count);
        const VecF direction = hn::MulAdd(decay, w, hn::Div(hn::Div(m, correction1), denominator));
        const VecF updated = hn::NegMulAdd(rate, direction, w);
        store(m, args.exp_avg + i, count);
        store(v, args.exp_avg_sq + i, count);
        store(updated, args.master + i, count);
        if (parameters != nullptr) store(updated, parameters + i, count);
      });
    });
  });
}

void Sgd(const SgdArgs& args, int64_t begin, int64_t end) {
  const VecF scale = splat(args.gradient_scale), rate = splat(args.learning_rate),
             decay = splat(args.weight_decay);
  with_compute_type(args.gradient_dtype, [&](auto gradient_type) HWY_ATTR {
    using G = decltype(gradient_type);
    const G* gradient = static_cast<const G*>(args.gradient);
    with_compute_type(args.parameters_dtype, [&](auto parameter_type) HWY_ATTR {
      using P = decltype(parameter_type);
      P* parameters = static_cast<P*>(args.parameters);
      pieces(begin, end, [&](int64_t i, auto count) HWY_ATTR {
        const VecF w = load(args.master + i, count);
        const VecF direction = hn::MulAdd(decay, w, hn::Mul(scale, load(gradient + i, count)));
        const VecF updated = hn::NegMulAdd(rate, direction, w);
        store(updated, args.master + i, count);
        if (parameters != nullptr) store(updated, parameters + i, count);
      });
    });
  });
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(Adamw);
HWY_EXPORT(Sgd);

void adamw(const AdamwArgs& args, int threads) {
  require_compute_type(args.gradient_dtype, "adamw");
  require_compute_type(args.parameters_dtype, "adamw");
  parallel_for(threads, args.n, kElementGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(Adamw)(args, begin, end);
  });
}

void sgd(const SgdArgs& args, int threads) {
  require_compute_type(args.gradient_dtype, "sgd");
  require_compute_type(args.parameters_dtype, "sgd");
  parallel_for(threads, args.n, kElementGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(Sgd)(args, begin, end);
  });
}

}  // namespace octant::cpu
#endif
