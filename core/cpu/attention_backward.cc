#include <algorithm>
#include <limits>

#include "core/cpu/attention.h"
#include "core/cpu/attention_bf16.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/attention_backward.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/attention-inl.h"
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// One worker's scratch: a whole kv head's sums of dk and dv, its keys and values in f32, and one block of
// everything else.
struct BackwardMemory {
  BackwardMemory(const AttentionForwardArgs& args, float* start) : carver(start) {
    const int64_t size = args.head_size;
    width = padded_width(size);
    const int64_t widened = args.dtype == DType::kF32 ? 0 : args.sequence * size;
    dk = carver.take(args.sequence * width);
    dv = carver.take(args.sequence * width);
    keys = carver.take(widened);
    values = carver.take(widened);
    query_rows = carver.take(kBlock * width);
    dout_rows = carver.take(kBlock * width);
    query_lanes = carver.take(size * kBlock);
    dout_lanes = carver.take(size * kBlock);
    dq_lanes = carver.take(size * kBlock);
    probabilities = carver.take(kBlock * kBlock);
    dscores = carver.take(kBlock * kBlock);
    lse = carver.take(kBlock);
    delta = carver.take(kBlock);
    rows = carver.take(kBlock * size);
  }

  Carver carver;
  int64_t width;
  float *dk, *dv, *keys, *values, *query_rows, *dout_rows, *query_lanes, *dout_lanes, *dq_lanes,
      *probabilities, *dscores;
  float *lse, *delta, *rows;
};

int64_t BackwardScratch(const AttentionForwardArgs& args) {
  return BackwardMemory(args, nullptr).carver.taken();
}

// probabilities = exp(score - lse), dscores = probability · (dprobability - delta); both with keys in rows,
// queries in lanes.
HWY_INLINE void score_gradients(int64_t keys, const BackwardMemory& m) {
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t i = 0; i < kBlock; i += kLanes) {
      float* p = m.probabilities + j * kBlock + i;
      float* ds = m.dscores + j * kBlock + i;
      const VecF probability = exp_of(hn::Sub(load(p, Whole()), load(m.lse + i, Whole())));
      store(probability, p, Whole());
      store(hn::Mul(probability, hn::Sub(load(ds, Whole()), load(m.delta + i, Whole()))), ds, Whole());
    }
  }
}

// sums[j] += sum over the queries i of weights[j][i] · rows[i] in a diagonal block, where the later keys have
// no weight for the earlier queries.
HWY_INLINE void later_queries(int64_t keys, int64_t queries, int64_t width, const float* weights,
                              const float* rows, float* sums) {
  block_product<true>(std::min(keys, kHalf), width, queries, weights, kBlock, 1, rows, width, sums, width);
  if (keys > kHalf) {
    block_product<true>(keys - kHalf, width, queries - kHalf, weights + kHalf * kBlock + kHalf, kBlock, 1,
                        rows + kHalf * width, width, sums + kHalf * width, width);
  }
}

// Adds the part of one block of queries of one head to dk and dv, and writes its dq.
template <typename T>
void backward_queries(const AttentionBackwardArgs& args, int64_t batch, int64_t head, int64_t first_query,
                      const WideRows& keys, const WideRows& values, const BackwardMemory& m) {
  const AttentionForwardArgs& forward = args.forward;
  const int64_t size = forward.head_size, width = m.width;
  const int64_t queries = std::min(kBlock, forward.sequence - first_query);
  const int64_t token = batch * forward.sequence + first_query;
  const T* out = static_cast<const T*>(forward.out) + token * forward.out_stride + head * size;
  const T* dout = static_cast<const T*>(args.dout) + token * forward.out_stride + head * size;

  // The scale is folded into the queries, so scores and dk need no further factor.
  widen_rows(static_cast<const T*>(forward.q) + token * forward.q_stride + head * size, forward.q_stride,
             queries, size, forward.scale, m.query_rows, width);
  widen_rows(dout, forward.out_stride, queries, size, 1.0f, m.dout_rows, width);
  transpose_to_lanes(m.query_rows, width, queries, size, m.query_lanes);
  transpose_to_lanes(m.dout_rows, width, queries, size, m.dout_lanes);
  std::fill_n(m.dq_lanes, size * kBlock, 0.0f);
  std::fill_n(m.lse, kBlock, 0.0f);
  std::fill_n(m.delta, kBlock, 0.0f);
  std::copy_n(forward.lse + (batch * forward.heads + head) * forward.sequence + first_query, queries, m.lse);
  for (int64_t i = 0; i < queries; ++i)
    m.delta[i] = row_product(dout + i * forward.out_stride, out + i * forward.out_stride, size);

  for (int64_t first_key = 0; first_key <= first_query; first_key += kBlock) {
    const int64_t count = std::min(kBlock, forward.sequence - first_key);
    const float* k = keys.data + first_key * keys.stride;
    const float* v = values.data + first_key * values.stride;
    float* const dk = m.dk + first_key * width;
    float* const dv = m.dv + first_key * width;
    if (first_key == first_query) {
      diagonal_scores(count, size, k, keys.stride, m.query_lanes, m.probabilities);
      diagonal_scores(count, size, v, values.stride, m.dout_lanes, m.dscores);
      mask_diagonal(count, -std::numeric_limits<float>::infinity(), m.probabilities);
      mask_diagonal(count, 0.0f, m.dscores);
      score_gradients(count, m);
      later_queries(count, queries, width, m.probabilities, m.dout_rows, dv);
      later_queries(count, queries, width, m.dscores, m.query_rows, dk);
      diagonal_sums(count, size, k, keys.stride, m.dscores, m.dq_lanes);
      continue;
    }
    block_product<false>(count, kBlock, size, k, keys.stride, 1, m.query_lanes, kBlock, m.probabilities,
                         kBlock);
    block_product<false>(count, kBlock, size, v, values.stride, 1, m.dout_lanes, kBlock, m.dscores, kBlock);
    score_gradients(count, m);
    block_product<true>(count, width, queries, m.probabilities, kBlock, 1, m.dout_rows, width, dv, width);
    block_product<true>(count, width, queries, m.dscores, kBlock, 1, m.query_rows, width, dk, width);
    block_product<true>(size, kBlock, count, k, 1, keys.stride, m.dscores, kBlock, m.dq_lanes, kBlock);
  }

  T* dq = static_cast<T*>(args.dq) + token * forward.q_stride + head * size;
  transpose(m.dq_lanes, kBlock, size, queries, m.rows, size);
  for (int64_t i = 0; i < queries; ++i) {
    pieces(0, size, [&](int64_t d, auto lanes) HWY_ATTR {
      store(hn::Mul(load(m.rows + i * size + d, lanes), splat(forward.scale)), dq + i * forward.q_stride + d,
            lanes);
    });
  }
}

// All of one kv head of one sequence: the heads of its group in order, their queries in order.
template <typename T>
void backward_group(const AttentionBackwardArgs& args, int64_t batch, int64_t kv_head, float* memory) {
  const AttentionForwardArgs& forward = args.forward;
  const int64_t sequence = forward.sequence, size = forward.head_size;
  const int64_t group = forward.heads / forward.kv_heads;
  const int64_t token = batch * sequence;
  const BackwardMemory m(forward, memory);
  const WideRows keys =
      wide_rows(static_cast<const T*>(forward.k) + token * forward.k_stride + kv_head * size,
                forward.k_stride, sequence, size, m.keys);
  const WideRows values =
      wide_rows(static_cast<const T*>(forward.v) + token * forward.v_stride + kv_head * size,
                forward.v_stride, sequence, size, m.values);
  std::fill_n(m.dk, sequence * m.width, 0.0f);
  std::fill_n(m.dv, sequence * m.width, 0.0f);
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (int64_t first_query = 0; first_query < sequence; first_query += kBlock) {
      backward_queries<T>(args, batch, head, first_query, keys, values, m);
    }
  }
  narrow_rows(m.dk, m.width, sequence, size,
              static_cast<T*>(args.dk) + token * forward.k_stride + kv_head * size, forward.k_stride);
  narrow_rows(m.dv, m.width, sequence, size,
              static_cast<T*>(args.dv) + token * forward.v_stride + kv_head * size, forward.v_stride);
}

void BackwardGroup(const AttentionBackwardArgs& args, int64_t task, float* memory) {
  const int64_t batch = task / args.forward.kv_heads, kv_head = task % args.forward.kv_heads;
  if (args.forward.dtype == DType::kF16) {
    backward_group<Float16>(args, batch, kv_head, memory);
  } else {
    backward_group<float>(args, batch, kv_head, memory);
  }
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(BackwardScratch);
HWY_EXPORT(BackwardGroup);

void attention_backward(const AttentionBackwardArgs& args, int threads, Scratch& scratch) {
  require_attention(args.forward, "attention_backward");
  if (args.forward.dtype == DType::kBF16) return attention_backward_bf16(args, threads, scratch);
  const int64_t floats = HWY_DYNAMIC_DISPATCH(BackwardScratch)(args.forward);
  const int64_t tasks = args.forward.batch * args.forward.kv_heads;
  float* memory = scratch.reserve_floats(floats * std::min<int64_t>(threads, tasks));
  parallel_tasks(threads, tasks, [&](int64_t task, int64_t worker) {
    HWY_DYNAMIC_DISPATCH(BackwardGroup)(args, task, memory + worker * floats);
  });
}

}  // namespace octant::cpu
#endif
