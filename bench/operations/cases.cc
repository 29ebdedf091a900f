#include "bench/operations/cases.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bench/operations/case.h"

namespace octant::bench {
namespace {

constexpr int64_t kTokens = 1024, kHidden = 768, kHeads = 12, kHeadSize = 64, kFfn = 3072,
                  kVocabulary = 50304;

void register_matmuls(Backend& backend, const Limits& limits, const std::vector<DType>& types) {
  struct Product {
    const char* name;
    int64_t m, n, k;
    bool transpose_a, transpose_b, accumulate;
  };
  for (const Product& p : {Product{"matmul_qkv_forward", kTokens, 3 * kHidden, kHidden, false, true, false},
                           {"matmul_projection_forward", kTokens, kHidden, kHidden, false, true, false},
                           {"matmul_up_forward", kTokens, kFfn, kHidden, false, true, false},
                           {"matmul_down_forward", kTokens, kHidden, kFfn, false, true, false},
                           {"matmul_up_input_gradient", kTokens, kHidden, kFfn, false, false, false},
                           {"matmul_up_weight_gradient", kFfn, kHidden, kTokens, true, false, true},
                           {"matmul_head_forward", kTokens, kVocabulary, kHidden, false, true, false}}) {
    const Work work{.flops = 2.0 * static_cast<double>(p.m * p.n * p.k)};
    add_case(backend, limits, p.name, work, types, [p](Backend& ops, Memory& memory, DType dtype) -> Run {
      const auto matrix = [&](int64_t rows, int64_t cols, DType type) {
        return Matrix{memory.take(rows * cols, type), type, rows, cols, cols};
      };
      const MatmulArgs args{.a = p.transpose_a ? matrix(p.k, p.m, dtype) : matrix(p.m, p.k, dtype),
                            .b = p.transpose_b ? matrix(p.n, p.k, dtype) : matrix(p.k, p.n, dtype),
                            .c = matrix(p.m, p.n, p.accumulate ? DType::kF32 : dtype),
                            .transpose_a = p.transpose_a,
                            .transpose_b = p.transpose_b,
                            .accumulate = p.accumulate};
      return [&ops, args] { ops.matmul({}, args); };
    });
  }
}

void register_attention(Backend& backend, const Limits& limits, const std::vector<DType>& types) {
  // Two products forward and five backward, each over the lower triangle.
  const double product = 2.0 * kHeads * kHeadSize * kTokens * (kTokens + 1) / 2.0;
  for (bool backward : {false, true}) {
    add_case(backend, limits, backward ? "attention_backward" : "attention_forward",
             {.flops = (backward ? 5.0 : 2.0) * product}, types,
             [backward](Backend& ops, Memory& memory, DType dtype) -> Run {
               const int64_t stride = 3 * kHidden;
               const int64_t width = kHidden * size_of(dtype);
               auto* qkv = static_cast<std::byte*>(memory.take(kTokens * stride, dtype));
               auto* dqkv = static_cast<std::byte*>(memory.take(kTokens * stride, dtype));
               const AttentionForwardArgs forward{.batch = 1,
                                                  .sequence = kTokens,
                                                  .heads = kHeads,
                                                  .kv_heads = kHeads,
                                                  .head_size = kHeadSize,
                                                  .dtype = dtype,
                                                  .scale = 0.125f,
                                                  .q = qkv,
                                                  .k = qkv + width,
                                                  .v = qkv + 2 * width,
                                                  .q_stride = stride,
                                                  .k_stride = stride,
                                                  .v_stride = stride,
                                                  .out = memory.take(kTokens * kHidden, dtype),
                                                  .out_stride = kHidden,
                                                  .lse = memory.floats(kHeads * kTokens)};
               const AttentionBackwardArgs args{.forward = forward,
                                                .dout = memory.take(kTokens * kHidden, dtype),
                                                .dq = dqkv,
                                                .dk = dqkv + width,
                                                .dv = dqkv + 2 * width};
               ops.attention_forward({}, forward);
               return [&ops, args, backward] {
                 backward ? ops.attention_backward({}, args) : ops.attention_forward({}, args.forward);
               };
             });
  }
}

void register_rows(Backend& backend, const Limits& limits, const std::vector<DType>& types) {
  constexpr int64_t kRow = kTokens * kHidden, kWide = kTokens * kFfn;
  add_case(backend, limits, "norm_forward", {.elements = 2.0 * kRow}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const NormForwardArgs args{.rows = kTokens,
                                        .cols = kHidden,
                                        .dtype = dtype,
                                        .x = memory.take(kRow, dtype),
                                        .gamma = memory.take(kHidden, dtype),
                                        .beta = memory.take(kHidden, dtype),
                                        .y = memory.take(kRow, dtype),
                                        .mean = memory.floats(kTokens),
                                        .rstd = memory.floats(kTokens)};
             return [&ops, args] { ops.norm_forward({}, args); };
           });
  add_case(backend, limits, "norm_backward", {.elements = 3.0 * kRow}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const NormBackwardArgs args{.rows = kTokens,
                                         .cols = kHidden,
                                         .dtype = dtype,
                                         .x = memory.take(kRow, dtype),
                                         .dy = memory.take(kRow, dtype),
                                         .gamma = memory.take(kHidden, dtype),
                                         .mean = memory.floats(kTokens),
                                         .rstd = memory.floats(kTokens),
                                         .dx = memory.take(kRow, dtype),
                                         .dgamma = memory.floats(kHidden),
                                         .dbeta = memory.floats(kHidden)};
             return [&ops, args] { ops.norm_backward({}, args); };
           });
  for (bool backward : {false, true}) {
    add_case(backend, limits, backward ? "gelu_backward" : "gelu_forward",
             {.elements = (backward ? 3.0 : 2.0) * kWide}, types,
             [backward](Backend& ops, Memory& memory, DType dtype) -> Run {
               const GeluArgs args{.n = kWide,
                                   .dtype = dtype,
                                   .x = memory.take(kWide, dtype),
                                   .dy = memory.take(kWide, dtype),
                                   .out = memory.take(kWide, dtype)};
               return [&ops, args, backward] {
                 backward ? ops.gelu_backward({}, args) : ops.gelu_forward({}, args);
               };
             });
    add_case(backend, limits, backward ? "swiglu_backward" : "swiglu_forward",
             {.elements = (backward ? 5.0 : 3.0) * kWide}, types,
             [backward](Backend& ops, Memory& memory, DType dtype) -> Run {
               const SwigluArgs args{.rows = kTokens,
                                     .ffn = kFfn,
                                     .dtype = dtype,
                                     .gate_up = memory.take(2 * kWide, dtype),
                                     .dy = memory.take(kWide, dtype),
                                     .out = memory.take(2 * kWide, dtype)};
               return [&ops, args, backward] {
                 backward ? ops.swiglu_backward({}, args) : ops.swiglu_forward({}, args);
               };
             });
  }
  add_case(backend, limits, "bias_gradient", {.elements = 1.0 * kWide}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const BiasGradientArgs args{.dy = {memory.take(kWide, dtype), dtype, kTokens, kFfn, kFfn},
                                         .dbias = memory.floats(kFfn)};
             return [&ops, args] { ops.bias_gradient({}, args); };
           });
  add_case(backend, limits, "rotary", {.elements = 2.0 * kRow}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const RotaryArgs args{.rows = kTokens,
                                   .sequence = kTokens,
                                   .heads = kHeads,
                                   .head_size = kHeadSize,
                                   .row_stride = kHidden,
                                   .dtype = dtype,
                                   .x = memory.take(kRow, dtype)};
             return [&ops, args] { ops.rotary({}, args); };
           });
  add_case(backend, limits, "dropout", {.elements = 3.0 * kRow}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const DropoutArgs args{.rows = kTokens,
                                    .cols = kHidden,
                                    .sequence = kTokens,
                                    .dtype = dtype,
                                    .probability = 0.1f,
                                    .key = 1,
                                    .sample_ids = static_cast<const int64_t*>(memory.take(1, DType::kI64)),
                                    .x = memory.take(kRow, dtype),
                                    .residual = memory.take(kRow, dtype),
                                    .y = memory.take(kRow, dtype)};
             return [&ops, args] { ops.dropout({}, args); };
           });
  add_case(backend, limits, "embedding_forward", {.elements = 2.0 * kRow}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const EmbeddingForwardArgs args{
                 .rows = kTokens,
                 .cols = kHidden,
                 .table_rows = kVocabulary,
                 .dtype = dtype,
                 .ids = static_cast<const int32_t*>(memory.take(kTokens, DType::kI32)),
                 .table = memory.take(kVocabulary * kHidden, dtype),
                 .out = memory.take(kRow, dtype)};
             return [&ops, args] { ops.embedding_forward({}, args); };
           });
  add_case(backend, limits, "position_forward", {.elements = 3.0 * kRow}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const PositionForwardArgs args{.rows = kTokens,
                                            .cols = kHidden,
                                            .sequence = kTokens,
                                            .dtype = dtype,
                                            .table = memory.take(kRow, dtype),
                                            .x = memory.take(kRow, dtype)};
             return [&ops, args] { ops.position_forward({}, args); };
           });
}

void register_cross_entropy(Backend& backend, const Limits& limits, const std::vector<DType>& types) {
  constexpr int64_t kRows = 128, kLogits = kRows * kVocabulary;
  for (bool backward : {false, true}) {
    add_case(backend, limits, backward ? "cross_entropy_backward" : "cross_entropy_statistics",
             {.bytes_f32 = 4.0 * kLogits, .elements = backward ? 1.0 * kLogits : 0.0},
             backward ? types : std::vector<DType>{DType::kF32},
             [backward](Backend& ops, Memory& memory, DType dtype) -> Run {
               auto* mask = static_cast<uint8_t*>(memory.take(kRows, DType::kU8));
               std::fill_n(mask, kRows, uint8_t{1});
               float* max = memory.floats(kRows);
               const CrossEntropyArgs args{
                   .rows = kRows,
                   .valid = kVocabulary,
                   .cols = kVocabulary,
                   .ld = kVocabulary,
                   .logits = memory.floats(kLogits),
                   .targets = static_cast<const int32_t*>(memory.take(kRows, DType::kI32)),
                   .mask = mask,
                   .local_max = max,
                   .max = max,
                   .sum = memory.floats(kRows),
                   .target = memory.floats(kRows),
                   .dlogits = memory.take(kLogits, dtype),
                   .dlogits_ld = kVocabulary,
                   .dlogits_dtype = dtype};
               return [&ops, args, backward] {
                 if (backward) {
                   ops.cross_entropy_backward({}, args);
                 } else {
                   ops.cross_entropy_statistics({}, args);
                 }
               };
             });
  }
}

void register_flat(Backend& backend, const Limits& limits, const std::vector<DType>& types) {
  // Parameters of one transformer block.
  constexpr int64_t n = 12 * kHidden * kHidden;
  add_case(backend, limits, "add", {.elements = 3.0 * n}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const AddArgs args{.n = n,
                                .dtype = dtype,
                                .a = memory.take(n, dtype),
                                .b = memory.take(n, dtype),
                                .out = memory.take(n, dtype)};
             return [&ops, args] { ops.add({}, args); };
           });
  add_case(backend, limits, "cast_to_f32", {.bytes_f32 = 4.0 * n, .elements = 1.0 * n}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const CastArgs args{
                 .n = n, .in = memory.take(n, dtype), .in_dtype = dtype, .out = memory.take(n, DType::kF32)};
             return [&ops, args] { ops.cast({}, args); };
           });
  add_case(backend, limits, "reduce_4", {.elements = 5.0 * n}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             std::vector<const void*> sources;
             for (int i = 0; i < 4; ++i) sources.push_back(memory.take(n, dtype));
             void* out = memory.take(n, dtype);
             return [&ops, sources, out, dtype] {
               ops.reduce({}, {.n = n,
                               .num_sources = 4,
                               .sources = sources.data(),
                               .dtype = dtype,
                               .out = out,
                               .out_dtype = dtype});
             };
           });
  add_case(backend, limits, "sum_squares", {.elements = 1.0 * n}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const SumSquaresArgs args{.n = n,
                                       .x = memory.take(n, dtype),
                                       .dtype = dtype,
                                       .out = static_cast<double*>(memory.take(1, DType::kF64))};
             return [&ops, args] { ops.sum_squares({}, args); };
           });
  add_case(backend, limits, "adamw", {.bytes_f32 = 28.0 * n, .elements = 1.0 * n}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             float* squares = static_cast<float*>(memory.take(n, DType::kF32));
             ops.set_zero({}, squares, n * 4);
             const AdamwArgs args{.n = n,
                                  .master = memory.floats(n),
                                  .gradient = memory.floats(n),
                                  .exp_avg = memory.floats(n),
                                  .exp_avg_sq = squares,
                                  .parameters = memory.take(n, dtype),
                                  .parameters_dtype = dtype,
                                  .learning_rate = 1e-3f,
                                  .beta1 = 0.9f,
                                  .beta2 = 0.95f,
                                  .epsilon = 1e-8f,
                                  .weight_decay = 0.1f};
             return [&ops, args] { ops.adamw({}, args); };
           });
  add_case(backend, limits, "sgd", {.bytes_f32 = 12.0 * n, .elements = 1.0 * n}, types,
           [](Backend& ops, Memory& memory, DType dtype) -> Run {
             const SgdArgs args{.n = n,
                                .master = memory.floats(n),
                                .gradient = memory.floats(n),
                                .parameters = memory.take(n, dtype),
                                .parameters_dtype = dtype,
                                .learning_rate = 1e-3f};
             return [&ops, args] { ops.sgd({}, args); };
           });
  add_case(backend, limits, "normal_fill", {.bytes_f32 = 4.0 * n / 16}, {DType::kF32},
           [](Backend& ops, Memory& memory, DType) -> Run {
             const NormalFillArgs args{.n = n / 16, .key = 1, .out = memory.floats(n / 16)};
             return [&ops, args] { ops.normal_fill({}, args); };
           });
}

}  // namespace

void register_cases(Backend& ops, const Limits& limits) {
  const std::vector<DType> types = {DType::kF32, DType::kBF16, DType::kF16};
  register_matmuls(ops, limits, types);
  register_attention(ops, limits, types);
  register_rows(ops, limits, types);
  register_cross_entropy(ops, limits, types);
  register_flat(ops, limits, types);
}

}  // namespace octant::bench
