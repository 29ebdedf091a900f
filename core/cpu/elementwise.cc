#include "core/cpu/elementwise.h"

#include <fmt/format.h>

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/elementwise.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

void Add(const AddArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    const T* a = static_cast<const T*>(args.a);
    const T* b = static_cast<const T*>(args.b);
    T* out = static_cast<T*>(args.out);
    pieces(begin, end, [&](int64_t i, auto count) HWY_ATTR {
      store(hn::Add(load(a + i, count), load(b + i, count)), out + i, count);
    });
  });
}

void Cast(const CastArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.in_dtype, [&](auto in_type) HWY_ATTR {
    using In = decltype(in_type);
    with_compute_type(args.out_dtype, [&](auto out_type) HWY_ATTR {
      using Out = decltype(out_type);
      const In* in = static_cast<const In*>(args.in);
      Out* out = static_cast<Out*>(args.out);
      const VecF scale = splat(args.scale);
      if (args.accumulate) {
        pieces(begin, end, [&](int64_t i, auto count) HWY_ATTR {
          store(hn::MulAdd(scale, load(in + i, count), load(out + i, count)), out + i, count);
        });
      } else {
        pieces(begin, end, [&](int64_t i, auto count) HWY_ATTR {
          store(hn::Mul(scale, load(in + i, count)), out + i, count);
        });
      }
    });
  });
}

// Sums past the size of a core's caches are written around them, those in place too: another core, which
// reads them next, gets them sooner from memory than out of this one's caches where the two share none.
HWY_INLINE bool streams_out(const ReduceArgs& args) {
  constexpr int64_t kStreamed = int64_t{2} << 20;
  return !args.accumulate && std::max(args.n, args.whole) * size_of(args.out_dtype) >= kStreamed;
}

// out[i] = value_at(i, count) for the range.
template <typename T, typename F>
HWY_INLINE void write_range(const ReduceArgs& args, int64_t begin, int64_t end, const F& value_at) {
  T* const out = static_cast<T*>(args.out);
  const auto write = [&](int64_t i, auto count) HWY_ATTR { store(value_at(i, count), out + i, count); };
  if constexpr (std::is_same_v<T, float>) {
    if (streams_out(args) && reinterpret_cast<uintptr_t>(out) % 64 == 0) {
      // From a cache line's first element to its last.
      const int64_t first = std::min(end, (begin + 15) / 16 * 16), last = std::max(first, end / 16 * 16);
      pieces(begin, first, write);
      for (int64_t i = first; i < last; i += kLanes) hn::Stream(value_at(i, Whole()), F32(), out + i);
      pieces(last, end, write);
      hwy::FlushStream();
      return;
    }
  }
  pieces(begin, end, write);
}

void ReduceFloats(const ReduceArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto in_type) HWY_ATTR {
    using In = decltype(in_type);
    with_compute_type(args.out_dtype, [&](auto out_type) HWY_ATTR {
      using Out = decltype(out_type);
      const bool sum = args.op == ReduceOp::kSum;
      // What a group of two does with every gradient.
      if (sum && args.num_sources == 2 && !args.accumulate) {
        const In* const first = static_cast<const In*>(args.sources[0]);
        const In* const second = static_cast<const In*>(args.sources[1]);
        write_range<Out>(args, begin, end, [&](int64_t i, auto count) HWY_ATTR {
          return hn::Add(load(first + i, count), load(second + i, count));
        });
        return;
      }
      const Out* const old_values = static_cast<const Out*>(args.out);
      write_range<Out>(args, begin, end, [&](int64_t i, auto count) HWY_ATTR {
        const auto source = [&](int s)
                                HWY_ATTR { return load(static_cast<const In*>(args.sources[s]) + i, count); };
        VecF total = source(0);
        for (int s = 1; s < args.num_sources; ++s) {
          total = sum ? hn::Add(total, source(s)) : max_or_nan(total, source(s));
        }
        if (!args.accumulate) return total;
        const VecF old = load(old_values + i, count);
        return sum ? hn::Add(old, total) : max_or_nan(old, total);
      });
    });
  });
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(Add);
HWY_EXPORT(Cast);
HWY_EXPORT(ReduceFloats);

namespace {

template <typename T>
T combine(ReduceOp op, T a, T b) {
  if (op == ReduceOp::kMax) return b > a || b != b ? b : a;
  if constexpr (std::is_integral_v<T>) {
    // Wraps instead of overflowing.
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}

// f64 and the integers carry losses and counts: few elements, summed plainly.
template <typename T>
void reduce_plainly(const ReduceArgs& args, int64_t begin, int64_t end) {
  T* out = static_cast<T*>(args.out);
  for (int64_t i = begin; i < end; ++i) {
    T total = static_cast<const T*>(args.sources[0])[i];
    for (int s = 1; s < args.num_sources; ++s)
      total = combine(args.op, total, static_cast<const T*>(args.sources[s])[i]);
    out[i] = args.accumulate ? combine(args.op, out[i], total) : total;
  }
}

void reduce_range(const ReduceArgs& args, int64_t begin, int64_t end) {
  switch (args.dtype) {
    case DType::kF64:
      return reduce_plainly<double>(args, begin, end);
    case DType::kI32:
      return reduce_plainly<int32_t>(args, begin, end);
    case DType::kI64:
      return reduce_plainly<int64_t>(args, begin, end);
    case DType::kU8:
      return reduce_plainly<uint8_t>(args, begin, end);
    default:
      HWY_DYNAMIC_DISPATCH(ReduceFloats)(args, begin, end);
  }
}

}  // namespace

void add(const AddArgs& args, int threads) {
  require_compute_type(args.dtype, "add");
  parallel_for(threads, args.n, kElementGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(Add)(args, begin, end);
  });
}

void cast(const CastArgs& args, int threads) {
  require_compute_type(args.in_dtype, "cast");
  require_compute_type(args.out_dtype, "cast");
  parallel_for(threads, args.n, kElementGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(Cast)(args, begin, end);
  });
}

void reduce(const ReduceArgs& args, int threads) {
  const bool floats = is_compute_type(args.dtype) && is_compute_type(args.out_dtype);
  if (!floats && args.dtype != args.out_dtype) {
    throw BugError(
        fmt::format("reduce was asked to turn {} into {}; only f32, bf16 and f16 change into one another",
                    name_of(args.dtype), name_of(args.out_dtype)));
  }
  if (args.num_sources < 1) throw BugError("reduce was given no source; it takes one or more");
  if (args.dtype == DType::kU8 && args.op != ReduceOp::kMax) {
    throw BugError("reduce was asked to sum u8, which would overflow; u8 knows the maximum only");
  }
  parallel_for(threads, args.n, kElementGrain,
               [&](int64_t begin, int64_t end) { reduce_range(args, begin, end); });
}

}  // namespace octant::cpu
#endif
