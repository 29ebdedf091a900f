#include <algorithm>
#include <limits>

#include "core/cpu/attention_bf16.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/attention_backward_bf16.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/attention_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// One worker's scratch: a whole kv head's sums of dk and dv and its packed keys and values, and one block of
// everything else.
struct Bf16BackwardMemory {
  Bf16BackwardMemory(const AttentionForwardArgs& args, float* start) : carver(start) {
    const int64_t size = args.head_size, pairs = pairs_in(size);
    const int64_t blocks = (args.sequence + kBlock - 1) / kBlock;
    width = padded_width(size);
    dk = carver.take(args.sequence * width);
    dv = carver.take(args.sequence * width);
    keys = carver.take_pairs(args.sequence * pairs);
    values = carver.take_pairs(args.sequence * pairs);
    transposed_keys = carver.take_pairs(blocks * size * kHalf);
    buffer = carver.take_pairs(kBlock * width);
    query_lanes = carver.take_pairs(pairs * kBlock);
    dout_lanes = carver.take_pairs(pairs * kBlock);
    query_rows = carver.take_pairs(kHalf * width);
    dout_rows = carver.take_pairs(kHalf * width);
    scores = carver.take(kBlock * kBlock);
    dprobabilities = carver.take(kBlock * kBlock);
    probabilities = carver.take_pairs(kBlock * kHalf);
    dscores = carver.take_pairs(kBlock * kHalf);
    dscore_pairs = carver.take_pairs(kHalf * kBlock);
    dq_lanes = carver.take(size * kBlock);
    lse = carver.take(kBlock);
    delta = carver.take(kBlock);
    rows = carver.take(kBlock * size);
  }

  Carver carver;
  int64_t width;
  float *dk, *dv;
  uint32_t *keys, *values, *transposed_keys, *buffer;
  uint32_t *query_lanes, *dout_lanes, *query_rows, *dout_rows;
  float *scores, *dprobabilities;
  uint32_t *probabilities, *dscores, *dscore_pairs;
  float *dq_lanes, *lse, *delta, *rows;
};

int64_t Bf16BackwardScratch(const AttentionForwardArgs& args) {
  return Bf16BackwardMemory(args, nullptr).carver.taken();
}

// probability = 2^(log2(e) · (scale · score - lse)), dscore = scale · probability · (dprobability - delta), keys
// in rows and queries in lanes: both by rows of queries, dscore by pairs of keys too. `lse` holds log2(e) and
// `delta` the scale.
HWY_INLINE void bf16_score_gradients(int64_t keys, float scale, const Bf16BackwardMemory& m) {
  const VecF factor = splat(scale), exponent_factor = splat(scale * kLog2E);
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    const VecF lse = load(m.lse + i, Whole()), delta = load(m.delta + i, Whole());
    const auto gradient = [&](int64_t j) HWY_ATTR {
      const int64_t at = j * kBlock + i;
      const VecF p = exp2_of(hn::MulSub(exponent_factor, load(m.scores + at, Whole()), lse));
      const VecF ds = hn::Mul(p, hn::MulSub(factor, load(m.dprobabilities + at, Whole()), delta));
      const VecPairs above = rounded_above(ds);
      store_halves(rounded_above(p), m.probabilities, at);
      store_halves(above, m.dscores, at);
      return above;
    };
    int64_t j = 0;
    for (; j + 2 <= keys; j += 2) {
      const VecPairs first = gradient(j);
      hn::StoreU(as_pairs(first, gradient(j + 1)), Bits32(), m.dscore_pairs + j / 2 * kBlock + i);
    }
    if (j < keys)
      hn::StoreU(as_pairs(gradient(j), hn::Zero(Bits32())), Bits32(), m.dscore_pairs + j / 2 * kBlock + i);
  }
}

// sums[j] += sum over the queries i of weights[j][i] · rows[i]; in a block on the diagonal the later keys have
// no weight for the earlier queries.
HWY_INLINE void bf16_query_sums(bool diagonal, int64_t keys, int64_t queries, int64_t width,
                                const uint32_t* weights, const uint32_t* rows, float* sums) {
  PairProductArgs product{.rows = diagonal ? std::min(keys, kHalf) : keys,
                          .columns = width,
                          .pairs = pairs_in(queries),
                          .a = weights,
                          .lda = kHalf,
                          .b = rows,
                          .ldb = width,
                          .c = sums,
                          .ldc = width,
                          .accumulate = true};
  pair_product(product);
  if (!diagonal || keys <= kHalf) return;
  product.rows = keys - kHalf;
  product.pairs = pairs_in(queries - kHalf);
  product.a += kHalf * kHalf + kHalf / 2;
  product.b += kHalf / 2 * width;
  product.c += kHalf * width;
  pair_product(product);
}

// Adds the part of one block of queries of one head to dk and dv, and writes its dq.
void bf16_backward_queries(const AttentionBackwardArgs& args, int64_t batch, int64_t head,
                           int64_t first_query, const Bf16BackwardMemory& m) {
  const AttentionForwardArgs& forward = args.forward;
  const int64_t size = forward.head_size, width = m.width, pairs = pairs_in(size);
  const int64_t queries = std::min(kBlock, forward.sequence - first_query);
  const int64_t token = batch * forward.sequence + first_query;
  const int64_t at = token * forward.out_stride + head * size;
  const BFloat16* q = static_cast<const BFloat16*>(forward.q) + token * forward.q_stride + head * size;
  const BFloat16* out = static_cast<const BFloat16*>(forward.out) + at;
  const BFloat16* dout = static_cast<const BFloat16*>(args.dout) + at;

  pack_lanes(q, forward.q_stride, queries, size, m.buffer, m.query_lanes);
  pack_lanes(dout, forward.out_stride, queries, size, m.buffer, m.dout_lanes);
  pack_row_pairs(q, forward.q_stride, queries, size, m.query_rows, width);
  pack_row_pairs(dout, forward.out_stride, queries, size, m.dout_rows, width);
  std::fill_n(m.dq_lanes, size * kBlock, 0.0f);
  std::fill_n(m.lse, kBlock, 0.0f);
  std::fill_n(m.delta, kBlock, 0.0f);
  const float* lse = forward.lse + (batch * forward.heads + head) * forward.sequence + first_query;
  for (int64_t i = 0; i < queries; ++i) {
    m.lse[i] = kLog2E * lse[i];
    m.delta[i] =
        forward.scale * row_product(dout + i * forward.out_stride, out + i * forward.out_stride, size);
  }

  for (int64_t first_key = 0; first_key <= first_query; first_key += kBlock) {
    const int64_t keys = std::min(kBlock, forward.sequence - first_key);
    const bool diagonal = first_key == first_query;
    pair_scores(diagonal, keys, size, m.keys + first_key * pairs, m.query_lanes, m.scores);
    pair_scores(diagonal, keys, size, m.values + first_key * pairs, m.dout_lanes, m.dprobabilities);
    if (diagonal) {
      mask_diagonal(keys, -std::numeric_limits<float>::infinity(), m.scores);
      mask_diagonal(keys, 0.0f, m.dprobabilities);
    }
    bf16_score_gradients(keys, forward.scale, m);
    bf16_query_sums(diagonal, keys, queries, width, m.probabilities, m.dout_rows, m.dv + first_key * width);
    bf16_query_sums(diagonal, keys, queries, width, m.dscores, m.query_rows, m.dk + first_key * width);
    pair_sums(diagonal, keys, size, m.transposed_keys + first_key / 2 * size, m.dscore_pairs, m.dq_lanes);
  }

  BFloat16* dq = static_cast<BFloat16*>(args.dq) + token * forward.q_stride + head * size;
  transpose(m.dq_lanes, kBlock, size, queries, m.rows, size);
  narrow_rows(m.rows, size, queries, size, dq, forward.q_stride);
}

// All of one kv head of one sequence: the heads of its group in order, their queries in order.
void Bf16BackwardGroup(const AttentionBackwardArgs& args, int64_t task, float* memory) {
  const AttentionForwardArgs& forward = args.forward;
  const int64_t batch = task / forward.kv_heads, kv_head = task % forward.kv_heads;
  const int64_t sequence = forward.sequence, size = forward.head_size;
  const int64_t group = forward.heads / forward.kv_heads;
  const int64_t token = batch * sequence;
  const Bf16BackwardMemory m(forward, memory);
  const BFloat16* k = static_cast<const BFloat16*>(forward.k) + token * forward.k_stride + kv_head * size;
  pack_rows(k, forward.k_stride, sequence, size, m.keys);
  pack_rows(static_cast<const BFloat16*>(forward.v) + token * forward.v_stride + kv_head * size,
            forward.v_stride, sequence, size, m.values);
  for (int64_t first = 0; first < sequence; first += kBlock) {
    pack_transposed(k + first * forward.k_stride, forward.k_stride, std::min(kBlock, sequence - first), size,
                    m.buffer, m.transposed_keys + first / 2 * size);
  }
  std::fill_n(m.dk, sequence * m.width, 0.0f);
  std::fill_n(m.dv, sequence * m.width, 0.0f);
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (int64_t first_query = 0; first_query < sequence; first_query += kBlock) {
      bf16_backward_queries(args, batch, head, first_query, m);
    }
  }
  narrow_rows(m.dk, m.width, sequence, size,
              static_cast<BFloat16*>(args.dk) + token * forward.k_stride + kv_head * size, forward.k_stride);
  narrow_rows(m.dv, m.width, sequence, size,
              static_cast<BFloat16*>(args.dv) + token * forward.v_stride + kv_head * size, forward.v_stride);
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(Bf16BackwardScratch);
HWY_EXPORT(Bf16BackwardGroup);

void attention_backward_bf16(const AttentionBackwardArgs& args, int threads, Scratch& scratch) {
  const int64_t floats = HWY_DYNAMIC_DISPATCH(Bf16BackwardScratch)(args.forward);
  const int64_t tasks = args.forward.batch * args.forward.kv_heads;
  float* memory = scratch.reserve_floats(floats * std::min<int64_t>(threads, tasks));
  parallel_tasks(threads, tasks, [&](int64_t task, int64_t worker) {
    HWY_DYNAMIC_DISPATCH(Bf16BackwardGroup)(args, task, memory + worker * floats);
  });
}

}  // namespace octant::cpu
#endif
