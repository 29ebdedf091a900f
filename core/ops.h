// The arguments of a backend's operations: plain structs of pointers, sizes, strides and dtypes.
//
// Shape letters as everywhere: B micro-batch, T sequence, C hidden, H heads, K kv heads, D head size, F ffn
// hidden, V vocabulary; M is a number of token rows. Pointers are device pointers. "T-typed" pointers have
// the struct's `dtype` (f32, bf16 or f16); statistics are f32. Outputs may not alias inputs unless a field's
// comment allows it. "Accumulates" means += into memory that holds a value. Sizes may be zero. Results are
// deterministic for one binary, instruction set and number of threads, and an element of an elementwise
// operation has the same bits wherever its range was cut.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace octant {

// A row-major matrix: element (i, j) at data[i * ld + j].
struct Matrix {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t ld = 0;
};

// c (+)= op(a) · op(b) [+ bias], multiplied and added in f32. a and b share one dtype (f32, bf16 or f16); c
// may be that dtype or f32 (and, when accumulating, f32 or the same 16-bit type).
struct MatmulArgs {
  Matrix a, b, c;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  const void* bias = nullptr;  // (c.cols) of a's dtype, added to every row; not with accumulate
};

// dbias[j] (+)= sum over rows of dy[i][j], summed in f32 and row order.
struct BiasGradientArgs {
  Matrix dy;
  void* dbias = nullptr;
  DType dbias_dtype = DType::kF32;
  bool accumulate = true;
};

// LayerNorm (Ba 2016) and RMSNorm (Zhang 2019) over rows of C; with rms, `mean`, beta and dbeta are unused.
struct NormForwardArgs {
  bool rms = false;
  int64_t rows = 0, cols = 0;
  DType dtype = DType::kF32;
  const void* x = nullptr;
  const void* gamma = nullptr;  // (C), T-typed
  const void* beta = nullptr;   // (C), T-typed
  float epsilon = 1e-5f;
  void* y = nullptr;
  float* mean = nullptr;  // (rows)
  float* rstd = nullptr;  // (rows)
};
struct NormBackwardArgs {
  bool rms = false;
  int64_t rows = 0, cols = 0;
  DType dtype = DType::kF32;
  const void* x = nullptr;
  const void* dy = nullptr;
  const void* gamma = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  void* dx = nullptr;  // may be dy
  void* dgamma = nullptr;
  void* dbeta = nullptr;
  DType gradient_dtype = DType::kF32;
  bool accumulate = true;  // dgamma and dbeta; else they are overwritten
};

// GELU, the tanh form (Hendrycks & Gimpel 2016): n elements. Backward: dx = dy · gelu'(x); dx may be dy.
struct GeluArgs {
  int64_t n = 0;
  DType dtype = DType::kF32;
  const void* x = nullptr;
  const void* dy = nullptr;  // backward only
  void* out = nullptr;       // y forward, dx backward
  void* y = nullptr;         // backward only: the forward's output again, to a rounding; may be null
};

// SwiGLU (Shazeer 2020): rows of (gate | up), 2F wide, to rows of silu(gate)·up, F wide. Backward writes
// (dgate | dup).
struct SwigluArgs {
  int64_t rows = 0, ffn = 0;
  DType dtype = DType::kF32;
  const void* gate_up = nullptr;  // (rows, 2F)
  const void* dy = nullptr;       // (rows, F), backward only
  void* out = nullptr;            // (rows, F) forward, (rows, 2F) backward; backward may be gate_up
  void* y = nullptr;  // (rows, F), backward only: the forward's output again, to a rounding; may be null
};

// Rotary embedding (Su 2021), halves rotated as Hugging Face does it (element i with i + D/2), in place on
// `heads` heads of every token row; the position of row i is i mod T. `inverse` rotates back (the backward).
struct RotaryArgs {
  int64_t rows = 0, sequence = 0, heads = 0, head_size = 0;
  int64_t row_stride = 0;  // elements between token rows
  DType dtype = DType::kF32;
  float base = 10000.0f;
  bool inverse = false;
  void* x = nullptr;
};

// Causal attention with grouped queries; head h reads kv head h / (H/K). Never materialises (T,T): the
// forward keeps the log-sum-exp of each row (Dao 2022). Strides are elements between token rows; heads are D
// apart within a row.
struct AttentionForwardArgs {
  int64_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_size = 0;
  DType dtype = DType::kF32;
  float scale = 1.0f;  // above zero
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0;
  void* out = nullptr;
  int64_t out_stride = 0;
  float* lse = nullptr;  // (B,H,T)
};
struct AttentionBackwardArgs {
  AttentionForwardArgs forward;                      // as given to the forward; out and lse are read
  const void* dout = nullptr;                        // out's stride
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;  // q's, k's, v's strides; overwritten
};

// Rows of a vocabulary-parallel table: this rank holds ids [first_id, first_id + table_rows). A row whose id
// is not held is zero.
struct EmbeddingForwardArgs {
  int64_t rows = 0, cols = 0, first_id = 0, table_rows = 0;
  DType dtype = DType::kF32;
  const int32_t* ids = nullptr;  // (rows)
  const void* table = nullptr;
  void* out = nullptr;
};
struct EmbeddingBackwardArgs {  // dtable[id - first_id] += dy, in row order
  int64_t rows = 0, cols = 0, first_id = 0, table_rows = 0;
  DType dtype = DType::kF32, gradient_dtype = DType::kF32;
  const int32_t* ids = nullptr;
  const void* dy = nullptr;
  void* dtable = nullptr;
};

// Learned positions: row i of x is token first_row + i of the flattened (B,T); its position is that mod T.
struct PositionForwardArgs {  // x[i] += table[position], in place
  int64_t rows = 0, cols = 0, first_row = 0, sequence = 0;
  DType dtype = DType::kF32;
  const void* table = nullptr;
  void* x = nullptr;
};
struct PositionBackwardArgs {  // dtable[position] += dy[i], in row order
  int64_t rows = 0, cols = 0, first_row = 0, sequence = 0;
  DType dtype = DType::kF32, gradient_dtype = DType::kF32;
  const void* dy = nullptr;
  void* dtable = nullptr;
};

// The local pieces of the vocabulary-parallel cross-entropy (Megatron-LM, section 3): logits are f32, (M,
// cols) with stride ld, of which the first `valid` columns are real vocabulary and the rest padding that
// never takes part.
struct CrossEntropyArgs {
  int64_t rows = 0, valid = 0, cols = 0, ld = 0, first_id = 0;
  const float* logits = nullptr;
  const int32_t* targets = nullptr;  // (M) global ids
  const uint8_t* mask = nullptr;     // (M)
  // (M) each, of this rank's columns by cross_entropy_statistics: the largest logit (-inf where valid is 0),
  // the sum of exp(logit - local_max), and the target's logit minus local_max where it is one of them, else 0.
  // Where several ranks hold the vocabulary, `max` is the largest of their local_max, and
  // cross_entropy_rescale makes sum and target relative to it, in place, so that both may be summed over the
  // ranks; where one holds all of it, max is local_max. The rest reads the joined max, sum and target.
  float* local_max = nullptr;
  const float* max = nullptr;
  float* sum = nullptr;
  float* target = nullptr;
  double* loss = nullptr;  // [0] += sum of mask · (log(sum) - target), rows in order, by cross_entropy_loss
  float scale = 1.0f;      // backward: dlogits = scale · mask · (softmax - onehot); 0 in padding columns
  // (M, cols), of dlogits_dtype. A row of it may begin where its row of logits does and overwrite it.
  void* dlogits = nullptr;
  int64_t dlogits_ld = 0;
  DType dlogits_dtype = DType::kF32;
};

// y = residual + x · keep / (1 - probability), where keep is Bernoulli from Philox at the global element
// index (sample_ids[r / T] · T + r mod T) · C + c with r = first_row + row. Backward (residual null): dx from
// dy by the same mask.
struct DropoutArgs {
  int64_t rows = 0, cols = 0, first_row = 0, sequence = 0;
  DType dtype = DType::kF32;
  float probability = 0.0f;
  uint64_t key = 0;  // core/math/philox.h, dropout_key(seed, step, layer, site)
  const int64_t* sample_ids = nullptr;
  const void* x = nullptr;
  const void* residual = nullptr;  // may be null
  void* y = nullptr;               // may be x or residual
};

// out = a + b, n elements; out may be a or b.
struct AddArgs {
  int64_t n = 0;
  DType dtype = DType::kF32;
  const void *a = nullptr, *b = nullptr;
  void* out = nullptr;
};

// out[i] (+)= scale · in[i], through f32, between any of f32, bf16, f16 (round to nearest even). in may be
// out for equal dtypes.
struct CastArgs {
  int64_t n = 0;
  const void* in = nullptr;
  DType in_dtype = DType::kF32;
  void* out = nullptr;
  DType out_dtype = DType::kF32;
  float scale = 1.0f;
  bool accumulate = false;
};

enum class ReduceOp : uint8_t { kSum, kMax };

// out[i] (+)= sources[0][i] + sources[1][i] + … in this order; floats add in f32 (f64 in f64), integers
// exactly, and the sum is rounded once to the output. out may be one of the sources. u8 knows kMax only.
struct ReduceArgs {
  int64_t n = 0;
  int64_t whole = 0;  // elements of the sum that this is a part of, where that is more than n
  int num_sources = 0;
  const void* const* sources = nullptr;
  DType dtype = DType::kF32;
  void* out = nullptr;
  DType out_dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  bool accumulate = false;
};

// *out += sum of x[i]^2 in f64, in a fixed order that depends on n alone.
struct SumSquaresArgs {
  int64_t n = 0;
  const void* x = nullptr;
  DType dtype = DType::kF32;
  double* out = nullptr;
};

// AdamW (Loshchilov & Hutter 2019) on a flat range: g = gradient_scale · gradient; m, v moments;
// bias_correction1 = 1 - beta1^t; w -= lr · (m/bc1 / (sqrt(v/bc2) + eps) + weight_decay · w). Writes w to
// `master` and, rounded, to `parameters` if not null.
struct AdamwArgs {
  int64_t n = 0;
  float* master = nullptr;
  const void* gradient = nullptr;
  DType gradient_dtype = DType::kF32;
  float gradient_scale = 1.0f;
  float *exp_avg = nullptr, *exp_avg_sq = nullptr;
  void* parameters = nullptr;
  DType parameters_dtype = DType::kF32;
  float learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  float bias_correction1 = 1, bias_correction2 = 1;
};

// w -= lr · (gradient_scale · gradient + weight_decay · w).
struct SgdArgs {
  int64_t n = 0;
  float* master = nullptr;
  const void* gradient = nullptr;
  DType gradient_dtype = DType::kF32;
  float gradient_scale = 1.0f;
  void* parameters = nullptr;
  DType parameters_dtype = DType::kF32;
  float learning_rate = 0, weight_decay = 0;
};

// out[i] = standard_deviation · normal(key, first_index + i), f32: a pure function of key and index
// (core/math/normal.h; a double in between may differ in its last bits, so one result in millions may be the
// neighbouring float).
struct NormalFillArgs {
  int64_t n = 0;
  uint64_t key = 0;
  int64_t first_index = 0;
  float standard_deviation = 1.0f;
  float* out = nullptr;
};

}  // namespace octant
