#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cpu/attention.h"
#include "core/cpu/attention_bf16.h"
#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/attention_forward.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/attention-inl.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// One worker's scratch.
struct ForwardMemory {
  ForwardMemory(const AttentionForwardArgs& args, float* start) : carver(start) {
    const int64_t size = args.head_size;
    const int64_t widened = args.dtype == DType::kF32 ? 0 : kBlock * size;
    rows = carver.take(kBlock * size);
    query_lanes = carver.take(size * kBlock);
    out_lanes = carver.take(size * kBlock);
    keys = carver.take(widened);
    values = carver.take(widened);
    scores = carver.take(kBlock * kBlock);
    maxima = carver.take(kBlock);
    sums = carver.take(kBlock);
    rescale = carver.take(kBlock);
  }

  Carver carver;
  float *rows, *query_lanes, *out_lanes, *keys, *values, *scores, *maxima, *sums, *rescale;
};

int64_t ForwardScratch(const AttentionForwardArgs& args) {
  return ForwardMemory(args, nullptr).carver.taken();
}

// scores (keys in rows, queries in lanes) become exp(score - running maximum); the output so far is rescaled
// to the new maximum.
HWY_INLINE void online_softmax(int64_t keys, float* scores, float* maxima, float* sums, float* rescale) {
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    const VecF old_max = load(maxima + i, Whole());
    VecF max = old_max;
    for (int64_t j = 0; j < keys; ++j) max = hn::Max(max, load(scores + j * kBlock + i, Whole()));
    VecF sum = splat(0.0f);
    for (int64_t j = 0; j < keys; ++j) {
      const VecF p = exp_of(hn::Sub(load(scores + j * kBlock + i, Whole()), max));
      store(p, scores + j * kBlock + i, Whole());
      sum = hn::Add(sum, p);
    }
    const VecF factor = exp_of(hn::Sub(old_max, max));
    store(hn::MulAdd(load(sums + i, Whole()), factor, sum), sums + i, Whole());
    store(max, maxima + i, Whole());
    store(factor, rescale + i, Whole());
  }
}

template <typename T>
void forward_block(const AttentionForwardArgs& args, int64_t batch, int64_t head, int64_t first_query,
                   float* memory) {
  const int64_t size = args.head_size;
  const int64_t queries = std::min(kBlock, args.sequence - first_query);
  const int64_t kv_head = head / (args.heads / args.kv_heads);
  const T* q =
      static_cast<const T*>(args.q) + (batch * args.sequence + first_query) * args.q_stride + head * size;
  const T* k = static_cast<const T*>(args.k) + batch * args.sequence * args.k_stride + kv_head * size;
  const T* v = static_cast<const T*>(args.v) + batch * args.sequence * args.v_stride + kv_head * size;

  const ForwardMemory m(args, memory);
  widen_rows(q, args.q_stride, queries, size, args.scale, m.rows, size);
  transpose_to_lanes(m.rows, size, queries, size, m.query_lanes);
  std::fill_n(m.out_lanes, size * kBlock, 0.0f);
  std::fill_n(m.maxima, kBlock, -std::numeric_limits<float>::infinity());
  std::fill_n(m.sums, kBlock, 0.0f);

  for (int64_t first_key = 0; first_key <= first_query; first_key += kBlock) {
    const int64_t keys = std::min(kBlock, args.sequence - first_key);
    const WideRows wide_k = wide_rows(k + first_key * args.k_stride, args.k_stride, keys, size, m.keys);
    const WideRows wide_v = wide_rows(v + first_key * args.v_stride, args.v_stride, keys, size, m.values);
    const bool diagonal = first_key == first_query;
    if (!diagonal) {
      block_product<false>(keys, kBlock, size, wide_k.data, wide_k.stride, 1, m.query_lanes, kBlock, m.scores,
                           kBlock);
    } else {
      diagonal_scores(keys, size, wide_k.data, wide_k.stride, m.query_lanes, m.scores);
      mask_diagonal(keys, -std::numeric_limits<float>::infinity(), m.scores);
    }
    online_softmax(keys, m.scores, m.maxima, m.sums, m.rescale);
    if (first_key > 0) rescale_lanes(size, m.rescale, m.out_lanes);
    if (diagonal) {
      diagonal_sums(keys, size, wide_v.data, wide_v.stride, m.scores, m.out_lanes);
    } else {
      block_product<true>(size, kBlock, keys, wide_v.data, 1, wide_v.stride, m.scores, kBlock, m.out_lanes,
                          kBlock);
    }
  }

  T* out = static_cast<T*>(args.out) + (batch * args.sequence + first_query) * args.out_stride + head * size;
  float* lse = args.lse + (batch * args.heads + head) * args.sequence + first_query;
  write_output(m.out_lanes, queries, size, m.sums, m.rows, out, args.out_stride);
  for (int64_t i = 0; i < queries; ++i) lse[i] = m.maxima[i] + std::log(m.sums[i]);
}

void ForwardBlock(const AttentionForwardArgs& args, int64_t task, float* memory) {
  const int64_t blocks = (args.sequence + kBlock - 1) / kBlock;
  const int64_t row = task / blocks;
  const int64_t batch = row / args.heads, head = row % args.heads;
  // The longest first.
  const int64_t first_query = (blocks - 1 - task % blocks) * kBlock;
  if (args.dtype == DType::kF16) {
    forward_block<Float16>(args, batch, head, first_query, memory);
  } else {
    forward_block<float>(args, batch, head, first_query, memory);
  }
}

int64_t ForwardTasks(const AttentionForwardArgs& args) {
  return args.batch * args.heads * ((args.sequence + kBlock - 1) / kBlock);
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

void require_attention(const AttentionForwardArgs& args, std::string_view operation) {
  require_compute_type(args.dtype, operation);
  if (args.kv_heads < 1 || args.heads % args.kv_heads != 0) {
    throw BugError("attention was given a number of heads that its number of kv heads does not divide");
  }
  if (!(args.scale > 0)) throw BugError("attention was given a scale that is not above zero");
}

HWY_EXPORT(ForwardScratch);
HWY_EXPORT(ForwardTasks);
HWY_EXPORT(ForwardBlock);

void attention_forward(const AttentionForwardArgs& args, int threads, Scratch& scratch) {
  require_attention(args, "attention_forward");
  if (args.dtype == DType::kBF16) return attention_forward_bf16(args, threads, scratch);
  const int64_t tasks = HWY_DYNAMIC_DISPATCH(ForwardTasks)(args);
  const int64_t floats = HWY_DYNAMIC_DISPATCH(ForwardScratch)(args);
  float* memory = scratch.reserve_floats(floats * std::min<int64_t>(threads, tasks));
  parallel_tasks(threads, tasks, [&](int64_t task, int64_t worker) {
    HWY_DYNAMIC_DISPATCH(ForwardBlock)(args, task, memory + worker * floats);
  });
}

}  // namespace octant::cpu
#endif
