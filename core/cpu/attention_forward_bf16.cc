#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cpu/attention_bf16.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/attention_forward_bf16.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/attention_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// One block of keys and values of one kv head, packed once for all queries that look at it.
struct Bf16PackedBlock {
  Bf16PackedBlock(const AttentionForwardArgs& args, float* start) : carver(start) {
    keys = carver.take_pairs(kBlock * pairs_in(args.head_size));
    values = carver.take_pairs(args.head_size * kHalf);
  }

  Carver carver;
  uint32_t *keys, *values;  // values: transposed
};

// One worker's scratch.
struct Bf16ForwardMemory {
  Bf16ForwardMemory(const AttentionForwardArgs& args, float* start) : carver(start) {
    buffer = carver.take_pairs(kBlock * padded_width(args.head_size));
    query_lanes = carver.take_pairs(pairs_in(args.head_size) * kBlock);
    out_lanes = carver.take(args.head_size * kBlock);
    scores = carver.take(kBlock * kBlock);
    weights = carver.take_pairs(kHalf * kBlock);
    maxima = carver.take(kBlock);
    sums = carver.take(kBlock);
    rescale = carver.take(kBlock);
    rows = carver.take(kBlock * args.head_size);
  }

  Carver carver;
  uint32_t *buffer, *query_lanes;
  float *out_lanes, *scores;
  uint32_t* weights;
  float *maxima, *sums, *rescale, *rows;
};

Bf16ForwardSizes Bf16SizesOf(const AttentionForwardArgs& args) {
  return {.blocks = (args.sequence + kBlock - 1) / kBlock,
          .packed_floats = Bf16PackedBlock(args, nullptr).carver.taken(),
          .worker_floats = Bf16ForwardMemory(args, nullptr).carver.taken()};
}

// `packed` has room for the blocks of every kv head, `blocks` in a row.
void Bf16PackBlock(const AttentionForwardArgs& args, const Bf16ForwardSizes& sizes, int64_t task,
                   float* packed, float* memory) {
  const int64_t head = task / sizes.blocks, first_key = task % sizes.blocks * kBlock;
  const int64_t batch = head / args.kv_heads, kv_head = head % args.kv_heads, size = args.head_size;
  const int64_t keys = std::min(kBlock, args.sequence - first_key);
  const int64_t token = batch * args.sequence + first_key;
  const Bf16PackedBlock block(args, packed + task * sizes.packed_floats);
  pack_rows(static_cast<const BFloat16*>(args.k) + token * args.k_stride + kv_head * size, args.k_stride,
            keys, size, block.keys);
  pack_transposed(static_cast<const BFloat16*>(args.v) + token * args.v_stride + kv_head * size,
                  args.v_stride, keys, size, Bf16ForwardMemory(args, memory).buffer, block.values);
}

// The weights 2^(scale · score - running maximum) of all keys (rows) for the queries (lanes), as pairs of keys;
// `sums` add them before they are rounded. The scale holds log2(e). True when a maximum has grown, so that
// what was summed before must be rescaled.
HWY_INLINE bool online_softmax(int64_t keys, float scale, const Bf16ForwardMemory& m) {
  const VecF factor = splat(scale);
  bool grown = false;
  for (int64_t i = 0; i < kBlock; i += kLanes) {
    const float* scores = m.scores + i;
    VecF highest = load(scores, Whole()), second = highest;
    int64_t k = 1;
    for (; k + 2 <= keys; k += 2) {
      highest = hn::Max(highest, load(scores + k * kBlock, Whole()));
      second = hn::Max(second, load(scores + (k + 1) * kBlock, Whole()));
    }
    if (k < keys) second = hn::Max(second, load(scores + k * kBlock, Whole()));
    highest = hn::Max(highest, second);
    const VecF old_max = load(m.maxima + i, Whole());
    const VecF max = hn::Max(old_max, hn::Mul(highest, factor));
    VecF sum = splat(0.0f);
    const auto weight = [&](int64_t j) HWY_ATTR {
      const VecF p = exp2_of(hn::MulSub(factor, load(scores + j * kBlock, Whole()), max));
      sum = hn::Add(sum, p);
      return rounded_above(p);
    };
    uint32_t* weights = m.weights + i;
    int64_t j = 0;
    for (; j + 2 <= keys; j += 2) {
      const VecPairs first = weight(j);
      hn::StoreU(as_pairs(first, weight(j + 1)), Bits32(), weights + j / 2 * kBlock);
    }
    if (j < keys) hn::StoreU(as_pairs(weight(j), hn::Zero(Bits32())), Bits32(), weights + j / 2 * kBlock);
    const VecF rescale = exp2_of(hn::Sub(old_max, max));
    grown = grown || !hn::AllTrue(F32(), hn::Eq(old_max, max));
    store(hn::MulAdd(load(m.sums + i, Whole()), rescale, sum), m.sums + i, Whole());
    store(max, m.maxima + i, Whole());
    store(rescale, m.rescale + i, Whole());
  }
  return grown;
}

void Bf16ForwardBlock(const AttentionForwardArgs& args, const Bf16ForwardSizes& sizes, int64_t task,
                      float* packed, float* memory) {
  const int64_t size = args.head_size;
  const int64_t row = task / sizes.blocks, batch = row / args.heads, head = row % args.heads;
  // The longest first.
  const int64_t query_block = sizes.blocks - 1 - task % sizes.blocks;
  const int64_t first_query = query_block * kBlock;
  const int64_t queries = std::min(kBlock, args.sequence - first_query);
  const int64_t token = batch * args.sequence + first_query;
  const int64_t kv_head = batch * args.kv_heads + head / (args.heads / args.kv_heads);

  const Bf16ForwardMemory m(args, memory);
  pack_lanes(static_cast<const BFloat16*>(args.q) + token * args.q_stride + head * size, args.q_stride,
             queries, size, m.buffer, m.query_lanes);
  std::fill_n(m.out_lanes, size * kBlock, 0.0f);
  std::fill_n(m.maxima, kBlock, -std::numeric_limits<float>::infinity());
  std::fill_n(m.sums, kBlock, 0.0f);

  for (int64_t key_block = 0; key_block <= query_block; ++key_block) {
    const int64_t keys = std::min(kBlock, args.sequence - key_block * kBlock);
    const bool diagonal = key_block == query_block;
    const Bf16PackedBlock block(args, packed + (kv_head * sizes.blocks + key_block) * sizes.packed_floats);
    pair_scores(diagonal, keys, size, block.keys, m.query_lanes, m.scores);
    if (diagonal) mask_diagonal(keys, -std::numeric_limits<float>::infinity(), m.scores);
    const bool grown = online_softmax(keys, args.scale * kLog2E, m);
    if (grown && key_block > 0) rescale_lanes(size, m.rescale, m.out_lanes);
    pair_sums(diagonal, keys, size, block.values, m.weights, m.out_lanes);
  }

  BFloat16* out = static_cast<BFloat16*>(args.out) + token * args.out_stride + head * size;
  float* lse = args.lse + row * args.sequence + first_query;
  write_output(m.out_lanes, queries, size, m.sums, m.rows, out, args.out_stride);
  for (int64_t i = 0; i < queries; ++i) lse[i] = m.maxima[i] * kLn2 + std::log(m.sums[i]);
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(Bf16SizesOf);
HWY_EXPORT(Bf16PackBlock);
HWY_EXPORT(Bf16ForwardBlock);

void attention_forward_bf16(const AttentionForwardArgs& args, int threads, Scratch& scratch) {
  const Bf16ForwardSizes sizes = HWY_DYNAMIC_DISPATCH(Bf16SizesOf)(args);
  const int64_t blocks = args.batch * args.kv_heads * sizes.blocks;
  const int64_t tasks = args.batch * args.heads * sizes.blocks;
  const int64_t workers = std::min<int64_t>(threads, tasks);
  float* packed = scratch.reserve_floats(blocks * sizes.packed_floats + workers * sizes.worker_floats);
  float* memory = packed + blocks * sizes.packed_floats;
  parallel_tasks(static_cast<int>(workers), blocks, [&](int64_t task, int64_t worker) {
    HWY_DYNAMIC_DISPATCH(Bf16PackBlock)(args, sizes, task, packed, memory + worker * sizes.worker_floats);
  });
  parallel_tasks(threads, tasks, [&](int64_t task, int64_t worker) {
    HWY_DYNAMIC_DISPATCH(Bf16ForwardBlock)(args, sizes, task, packed, memory + worker * sizes.worker_floats);
  });
}

}  // namespace octant::cpu
#endif
