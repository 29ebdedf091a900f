#include "core/cpu/cross_entropy.h"

#include <cmath>
#include <limits>

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/cross_entropy.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

void CrossEntropyMax(const CrossEntropyArgs& args, int64_t begin, int64_t end) {
  const float lowest = -std::numeric_limits<float>::infinity();
  for (int64_t row = begin; row < end; ++row) {
    const float* logits = args.logits + row * args.ld;
    // Four at a time: each waits for the one before.
    const auto at = [&](int64_t j, auto count)
                        HWY_ATTR { return keep_first(load(logits + j, count), splat(lowest), count); };
    VecF m0 = splat(lowest), m1 = m0, m2 = m0, m3 = m0;
    int64_t done = 0;
    for (; done + 4 * kLanes <= args.valid; done += 4 * kLanes) {
      m0 = max_or_nan(m0, at(done, Whole()));
      m1 = max_or_nan(m1, at(done + kLanes, Whole()));
      m2 = max_or_nan(m2, at(done + 2 * kLanes, Whole()));
      m3 = max_or_nan(m3, at(done + 3 * kLanes, Whole()));
    }
    pieces(done, args.valid, [&](int64_t j, auto count) HWY_ATTR { m0 = max_or_nan(m0, at(j, count)); });
    const VecF largest = max_or_nan(max_or_nan(m0, m1), max_or_nan(m2, m3));
    alignas(64) float lanes[kLanes];
    store(largest, lanes, Whole());
    float max = lowest;
    for (float lane : lanes) max = lane > max || std::isnan(lane) ? lane : max;
    args.max[row] = max;
  }
}

void CrossEntropySum(const CrossEntropyArgs& args, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float* logits = args.logits + row * args.ld;
    const VecF max = splat(args.max[row]);
    args.sum[row] = sum_of(args.valid, [&](int64_t j, auto count) HWY_ATTR {
      return exp_of(hn::Sub(load(logits + j, count), max));
    });
    const int64_t local = args.targets[row] - args.first_id;
    args.target[row] = local >= 0 && local < args.valid ? logits[local] - args.max[row] : 0.0f;
  }
}

void CrossEntropyBackward(const CrossEntropyArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dlogits_dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const float* logits = args.logits + row * args.ld;
      T* dlogits = static_cast<T*>(args.dlogits) + row * args.dlogits_ld;
      const auto zero = [&](int64_t j, auto count) HWY_ATTR { store(splat(0.0f), dlogits + j, count); };
      if (args.mask[row] == 0) {
        pieces(0, args.cols, zero);
        continue;
      }
      const int64_t local = args.targets[row] - args.first_id;
      const bool held = local >= 0 && local < args.valid;
      // Read first: dlogits may overwrite the logits. An element of at most their size never lies behind the
      // one it is made of.
      const float target_logit = held ? logits[local] : 0.0f;
      const VecF max = splat(args.max[row]);
      const float inverse = 1.0f / args.sum[row];
      const VecF factor = splat(args.scale * inverse);
      pieces(0, args.valid, [&](int64_t j, auto count) HWY_ATTR {
        store(hn::Mul(factor, exp_of(hn::Sub(load(logits + j, count), max))), dlogits + j, count);
      });
      pieces(args.valid, args.cols, zero);
      if (held) {
        const float probability = std::exp(target_logit - args.max[row]) * inverse;
        dlogits[local] = narrow<T>(args.scale * (probability - 1.0f));
      }
    }
  });
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(CrossEntropyMax);
HWY_EXPORT(CrossEntropySum);
HWY_EXPORT(CrossEntropyBackward);

void cross_entropy_max(const CrossEntropyArgs& args, int threads) {
  parallel_for(threads, args.rows, row_grain(args.valid), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(CrossEntropyMax)(args, begin, end);
  });
}

void cross_entropy_sum(const CrossEntropyArgs& args, int threads) {
  parallel_for(threads, args.rows, row_grain(args.valid), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(CrossEntropySum)(args, begin, end);
  });
}

void cross_entropy_loss(const CrossEntropyArgs& args) {
  double loss = 0;
  for (int64_t row = 0; row < args.rows; ++row) {
    if (args.mask[row] != 0) {
      loss += std::log(static_cast<double>(args.sum[row])) - static_cast<double>(args.target[row]);
    }
  }
  *args.loss += loss;
}

void cross_entropy_backward(const CrossEntropyArgs& args, int threads) {
  require_compute_type(args.dlogits_dtype, "cross_entropy_backward");
  parallel_for(threads, args.rows, row_grain(args.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(CrossEntropyBackward)(args, begin, end);
  });
}

}  // namespace octant::cpu
#endif
