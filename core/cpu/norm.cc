#include "core/cpu/norm.h"

#include <cmath>

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/norm.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/columns-inl.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

template <typename T>
void normalise_row(const NormForwardArgs& args, int64_t row) {
  const int64_t cols = args.cols;
  const T* x = static_cast<const T*>(args.x) + row * cols;
  const T* gamma = static_cast<const T*>(args.gamma);
  T* y = static_cast<T*>(args.y) + row * cols;
  const float n = static_cast<float>(cols);
  const float mean =
      args.rms ? 0.0f : sum_of(cols, [&](int64_t i, auto count) HWY_ATTR { return load(x + i, count); }) / n;
  const VecF center = splat(mean);
  const float squares = sum_of(cols, [&](int64_t i, auto count) HWY_ATTR {
    const VecF centred = hn::Sub(load(x + i, count), center);
    return hn::Mul(centred, centred);
  });
  const float rstd = 1.0f / std::sqrt(squares / n + args.epsilon);
  const VecF scale = splat(rstd);
  if (args.rms) {
    pieces(0, cols, [&](int64_t i, auto count) HWY_ATTR {
      store(hn::Mul(hn::Mul(load(x + i, count), scale), load(gamma + i, count)), y + i, count);
    });
  } else {
    const T* beta = static_cast<const T*>(args.beta);
    pieces(0, cols, [&](int64_t i, auto count) HWY_ATTR {
      const VecF normal = hn::Mul(hn::Sub(load(x + i, count), center), scale);
      store(hn::MulAdd(normal, load(gamma + i, count), load(beta + i, count)), y + i, count);
    });
    args.mean[row] = mean;
  }
  args.rstd[row] = rstd;
}

void NormForward(const NormForwardArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) normalise_row<decltype(type)>(args, row);
  });
}

// With g = dy · gamma and h the normalised row: dx = rstd (g - mean(g) - h mean(g h)); RMSNorm has no
// mean(g).
template <typename T>
void input_gradient_row(const NormBackwardArgs& args, int64_t row) {
  const int64_t cols = args.cols;
  const T* x = static_cast<const T*>(args.x) + row * cols;
  const T* dy = static_cast<const T*>(args.dy) + row * cols;
  const T* gamma = static_cast<const T*>(args.gamma);
  T* dx = static_cast<T*>(args.dx) + row * cols;
  const float n = static_cast<float>(cols);
  const VecF center = splat(args.rms ? 0.0f : args.mean[row]);
  const VecF scale = splat(args.rstd[row]);
  const auto gradient = [&](int64_t i, auto count)
                            HWY_ATTR { return hn::Mul(load(dy + i, count), load(gamma + i, count)); };
  const auto normal = [&](int64_t i, auto count)
                          HWY_ATTR { return hn::Mul(hn::Sub(load(x + i, count), center), scale); };
  const auto [sum_g, sum_gh] = sums_of(cols, [&](int64_t i, auto count) HWY_ATTR {
    const VecF g = gradient(i, count);
    return std::array{g, hn::Mul(g, normal(i, count))};
  });
  const VecF mean_g = splat(args.rms ? 0.0f : sum_g / n);
  const VecF mean_gh = splat(sum_gh / n);
  pieces(0, cols, [&](int64_t i, auto count) HWY_ATTR {
    const VecF centred = hn::Sub(gradient(i, count), mean_g);
    store(hn::Mul(scale, hn::NegMulAdd(normal(i, count), mean_gh, centred)), dx + i, count);
  });
}

void NormInputGradient(const NormBackwardArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) input_gradient_row<decltype(type)>(args, row);
  });
}

// Columns [begin, end) of dgamma and dbeta over all rows in order.
void NormWeightGradient(const NormBackwardArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    const T* x = static_cast<const T*>(args.x);
    const T* dy = static_cast<const T*>(args.dy);
    const auto terms = [&](int64_t row, int64_t column, auto count) HWY_ATTR {
      const int64_t at = row * args.cols + column;
      const VecF center = splat(args.rms ? 0.0f : args.mean[row]);
      const VecF normal = hn::Mul(hn::Sub(load(x + at, count), center), splat(args.rstd[row]));
      const VecF upstream = load(dy + at, count);
      return std::array{hn::Mul(upstream, normal), upstream};
    };
    if (args.rms)
      add_column_sums<1>(args.rows, begin, end, {args.dgamma}, args.gradient_dtype, args.accumulate, terms);
    else
      add_column_sums<2>(args.rows, begin, end, {args.dgamma, args.dbeta}, args.gradient_dtype,
                         args.accumulate, terms);
  });
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(NormForward);
HWY_EXPORT(NormInputGradient);
HWY_EXPORT(NormWeightGradient);

void norm_forward(const NormForwardArgs& args, int threads) {
  require_compute_type(args.dtype, "norm_forward");
  parallel_for(threads, args.rows, row_grain(args.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(NormForward)(args, begin, end);
  });
}

void norm_backward(const NormBackwardArgs& args, int threads) {
  require_compute_type(args.dtype, "norm_backward");
  require_compute_type(args.gradient_dtype, "norm_backward");
  // The weights first: dx may overwrite dy.
  parallel_for(threads, args.cols, row_grain(args.rows), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(NormWeightGradient)(args, begin, end);
  });
  parallel_for(threads, args.rows, row_grain(args.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(NormInputGradient)(args, begin, end);
  });
}

}  // namespace octant::cpu
#endif
