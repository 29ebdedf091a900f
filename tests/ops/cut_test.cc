// An element has the same bits wherever its range was cut, and whatever the number of threads.
#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(CutTest);
OCTANT_OPS_SUITE(ThreadsTest);

constexpr int64_t kCount = 77;

// `run(begin, count, out)` computes elements [begin, begin + count) into the buffer that it also starts from;
// every cut in two must leave the bytes of the uncut run.
void every_cut(const std::string& what, const std::function<Buffer*()>& fresh,
               const std::function<void(int64_t begin, int64_t count, Buffer& out)>& run) {
  const std::unique_ptr<Buffer> whole(fresh());
  run(0, kCount, *whole);
  const auto expected = whole->raw();
  for (int64_t cut = 1; cut < kCount; ++cut) {
    const std::unique_ptr<Buffer> parts(fresh());
    run(0, cut, *parts);
    run(cut, kCount - cut, *parts);
    ASSERT_EQ(parts->raw(), expected) << what << " cut at " << cut;
  }
}

TEST_P(CutTest, ElementwiseOperations) {
  for (DType dtype : kComputeTypes) {
    const std::string name(name_of(dtype));
    const Buffer a(ops(), dtype, random_values(kCount, 101, 4.0)),
        b(ops(), dtype, random_values(kCount, 102, 4.0));
    const auto fresh = [&] { return new Buffer(ops(), dtype, random_values(kCount, 103)); };
    const auto fresh_f32 = [&] { return new Buffer(ops(), DType::kF32, random_values(kCount, 104)); };
    every_cut("gelu " + name, fresh, [&](int64_t at, int64_t n, Buffer& out) {
      ops().gelu_forward({}, {.n = n, .dtype = dtype, .x = a.at(at), .out = out.at(at)});
    });
    every_cut("gelu backward " + name, fresh, [&](int64_t at, int64_t n, Buffer& out) {
      ops().gelu_backward({}, {.n = n, .dtype = dtype, .x = a.at(at), .dy = b.at(at), .out = out.at(at)});
    });
    every_cut("add " + name, fresh, [&](int64_t at, int64_t n, Buffer& out) {
      ops().add({}, {.n = n, .dtype = dtype, .a = a.at(at), .b = b.at(at), .out = out.at(at)});
    });
    for (bool accumulate : {false, true}) {
      every_cut("cast " + name, fresh_f32, [&](int64_t at, int64_t n, Buffer& out) {
        ops().cast({}, {.n = n,
                        .in = a.at(at),
                        .in_dtype = dtype,
                        .out = out.at(at),
                        .scale = 1.0f / 3.0f,
                        .accumulate = accumulate});
      });
      every_cut("reduce " + name, fresh, [&](int64_t at, int64_t n, Buffer& out) {
        const void* sources[] = {a.at(at), b.at(at)};
        ops().reduce({}, {.n = n,
                          .num_sources = 2,
                          .sources = sources,
                          .dtype = dtype,
                          .out = out.at(at),
                          .out_dtype = dtype,
                          .accumulate = accumulate});
      });
    }
    every_cut("sgd " + name, fresh_f32, [&](int64_t at, int64_t n, Buffer& out) {
      ops().sgd({}, {.n = n,
                     .master = out.floats() + at,
                     .gradient = a.at(at),
                     .gradient_dtype = dtype,
                     .gradient_scale = 0.3f,
                     .learning_rate = 0.1f,
                     .weight_decay = 0.01f});
    });
    every_cut("adamw " + name, fresh_f32, [&](int64_t at, int64_t n, Buffer& out) {
      const Buffer m(ops(), DType::kF32, random_values(kCount, 105)),
          v(ops(), DType::kF32, Values(kCount, 0.3));
      ops().adamw({}, {.n = n,
                       .master = out.floats() + at,
                       .gradient = a.at(at),
                       .gradient_dtype = dtype,
                       .gradient_scale = 0.3f,
                       .exp_avg = m.floats() + at,
                       .exp_avg_sq = v.floats() + at,
                       .learning_rate = 0.1f,
                       .beta1 = 0.9f,
                       .beta2 = 0.95f,
                       .epsilon = 1e-8f,
                       .weight_decay = 0.01f,
                       .bias_correction1 = 0.1f,
                       .bias_correction2 = 0.05f});
    });
    every_cut("normal_fill", fresh_f32, [&](int64_t at, int64_t n, Buffer& out) {
      ops().normal_fill(
          {},
          {.n = n, .key = 5, .first_index = 13 + at, .standard_deviation = 0.02f, .out = out.floats() + at});
    });
    // One row each for operations on rows of one or two columns: the cut goes between rows.
    every_cut("dropout " + name, fresh, [&](int64_t at, int64_t n, Buffer& out) {
      const Array<int64_t> ids(ops(), {3, 1, 2});
      ops().dropout({}, {.rows = n,
                         .cols = 1,
                         .first_row = at,
                         .sequence = 30,
                         .dtype = dtype,
                         .probability = 0.3f,
                         .key = 9,
                         .sample_ids = ids.data(),
                         .x = a.at(at),
                         .residual = b.at(at),
                         .y = out.at(at)});
    });
    every_cut("position " + name, fresh, [&](int64_t at, int64_t n, Buffer& out) {
      ops().position_forward({}, {.rows = n,
                                  .cols = 1,
                                  .first_row = at,
                                  .sequence = 30,
                                  .dtype = dtype,
                                  .table = a.data(),
                                  .x = out.at(at)});
    });
  }
}

// Columns beyond one vector too: the rows of a tensor-parallel rank are shorter than the whole ones.
TEST_P(CutTest, SwigluColumns) {
  constexpr int64_t kFfn = 45;
  for (DType dtype : kComputeTypes) {
    const Values gate = random_values(kFfn, 106, 4.0), up = random_values(kFfn, 107, 4.0);
    const auto run = [&](int64_t begin, int64_t end) {
      Values in(gate.begin() + begin, gate.begin() + end);
      in.insert(in.end(), up.begin() + begin, up.begin() + end);
      const Buffer x(ops(), dtype, in), y(ops(), dtype, Values(end - begin));
      ops().swiglu_forward(
          {}, {.rows = 1, .ffn = end - begin, .dtype = dtype, .gate_up = x.data(), .out = y.data()});
      return y.read();
    };
    const Values whole = run(0, kFfn);
    for (int64_t cut = 1; cut < kFfn; ++cut) {
      Values parts = run(0, cut);
      const Values rest = run(cut, kFfn);
      parts.insert(parts.end(), rest.begin(), rest.end());
      ASSERT_EQ(parts, whole) << name_of(dtype) << " " << cut;
    }
  }
}

using Bytes = std::vector<std::byte>;

void append(Bytes& all, const Buffer& buffer) {
  const Bytes raw = buffer.raw();
  all.insert(all.end(), raw.begin(), raw.end());
}

// Everything that threads share out, at sizes where they do, joined into one string of bytes.
Bytes elementwise_bytes(Backend& ops, DType dtype) {
  constexpr int64_t n = 3 * 16384 + 17;
  Bytes all;
  const Buffer a(ops, dtype, random_values(n, 111, 4.0)), b(ops, dtype, random_values(n, 112)),
      out(ops, dtype, Values(n));
  ops.gelu_forward({}, {.n = n, .dtype = dtype, .x = a.data(), .out = out.data()});
  append(all, out);
  ops.gelu_backward({}, {.n = n, .dtype = dtype, .x = a.data(), .dy = b.data(), .out = out.data()});
  append(all, out);
  ops.add({}, {.n = n, .dtype = dtype, .a = a.data(), .b = b.data(), .out = out.data()});
  append(all, out);
  const void* sources[] = {a.data(), b.data(), out.data()};
  ops.reduce(
      {},
      {.n = n, .num_sources = 3, .sources = sources, .dtype = dtype, .out = out.data(), .out_dtype = dtype});
  append(all, out);
  const Buffer w(ops, DType::kF32, random_values(n, 113)), m(ops, DType::kF32, Values(n)),
      v(ops, DType::kF32, Values(n));
  ops.cast({},
           {.n = n, .in = a.data(), .in_dtype = dtype, .out = w.data(), .scale = 0.3f, .accumulate = true});
  ops.adamw({}, {.n = n,
                 .master = w.floats(),
                 .gradient = b.data(),
                 .gradient_dtype = dtype,
                 .exp_avg = m.floats(),
                 .exp_avg_sq = v.floats(),
                 .parameters = out.data(),
                 .parameters_dtype = dtype,
                 .learning_rate = 0.1f,
                 .beta1 = 0.9f,
                 .beta2 = 0.9f,
                 .epsilon = 1e-8f});
  ops.sgd(
      {},
      {.n = n, .master = w.floats(), .gradient = b.data(), .gradient_dtype = dtype, .learning_rate = 0.1f});
  for (const Buffer* buffer : {&out, &w, &m, &v}) append(all, *buffer);
  ops.normal_fill({}, {.n = n, .key = 3, .first_index = 1, .out = w.floats()});
  append(all, w);
  const Array<double> sum(ops, {0.0});
  ops.sum_squares({}, {.n = n, .x = a.data(), .dtype = dtype, .out = sum.data()});
  const double squares = sum.read()[0];
  const std::byte* bytes = reinterpret_cast<const std::byte*>(&squares);
  all.insert(all.end(), bytes, bytes + sizeof(squares));
  return all;
}

Bytes row_bytes(Backend& ops, DType dtype) {
  constexpr int64_t rows = 70, cols = 1034, n = rows * cols;
  Bytes all;
  const Buffer x(ops, dtype, random_values(n, 114)), dy(ops, dtype, random_values(n, 115)),
      y(ops, dtype, Values(n));
  const Buffer gamma(ops, dtype, random_values(cols, 116)), mean(ops, DType::kF32, Values(rows)),
      rstd(ops, DType::kF32, Values(rows));
  const Buffer dgamma(ops, DType::kF32, Values(cols)), dbeta(ops, DType::kF32, Values(cols)),
      table(ops, DType::kF32, Values(20 * cols));
  ops.norm_forward({}, {.rows = rows,
                        .cols = cols,
                        .dtype = dtype,
                        .x = x.data(),
                        .gamma = gamma.data(),
                        .beta = gamma.data(),
                        .y = y.data(),
                        .mean = mean.floats(),
                        .rstd = rstd.floats()});
  append(all, y);
  ops.norm_backward({}, {.rows = rows,
                         .cols = cols,
                         .dtype = dtype,
                         .x = x.data(),
                         .dy = dy.data(),
                         .gamma = gamma.data(),
                         .mean = mean.floats(),
                         .rstd = rstd.floats(),
                         .dx = y.data(),
                         .dgamma = dgamma.data(),
                         .dbeta = dbeta.data()});
  ops.bias_gradient({}, {.dy = {x.data(), dtype, rows, cols, cols}, .dbias = dbeta.data()});
  for (const Buffer* buffer : {&y, &dgamma, &dbeta, &mean, &rstd}) append(all, *buffer);
  ops.swiglu_forward({},
                     {.rows = rows, .ffn = cols / 2, .dtype = dtype, .gate_up = x.data(), .out = y.data()});
  append(all, y);
  ops.swiglu_backward(
      {},
      {.rows = rows, .ffn = cols / 2, .dtype = dtype, .gate_up = x.data(), .dy = dy.data(), .out = y.data()});
  append(all, y);
  ops.rotary({}, {.rows = rows,
                  .sequence = 35,
                  .heads = 11,
                  .head_size = 94,
                  .row_stride = cols,
                  .dtype = dtype,
                  .x = y.data()});
  append(all, y);
  std::vector<int32_t> tokens;
  for (int32_t r = 0; r < rows; ++r) tokens.push_back(r * 7 % 23);
  const Array<int32_t> ids(ops, tokens);
  ops.embedding_forward({}, {.rows = rows,
                             .cols = cols,
                             .first_id = 1,
                             .table_rows = 20,
                             .dtype = dtype,
                             .ids = ids.data(),
                             .table = x.data(),
                             .out = y.data()});
  append(all, y);
  ops.embedding_backward({}, {.rows = rows,
                              .cols = cols,
                              .first_id = 1,
                              .table_rows = 20,
                              .dtype = dtype,
                              .ids = ids.data(),
                              .dy = dy.data(),
                              .dtable = table.data()});
  ops.position_backward({}, {.rows = rows,
                             .cols = cols,
                             .first_row = 3,
                             .sequence = 20,
                             .dtype = dtype,
                             .dy = dy.data(),
                             .dtable = table.data()});
  append(all, table);
  ops.position_forward({}, {.rows = rows,
                            .cols = cols,
                            .first_row = 3,
                            .sequence = 20,
                            .dtype = dtype,
                            .table = x.data(),
                            .x = y.data()});
  const Array<int64_t> samples(ops, {4, 2});
  ops.dropout({}, {.rows = rows,
                   .cols = cols,
                   .sequence = 35,
                   .dtype = dtype,
                   .probability = 0.2f,
                   .key = 1,
                   .sample_ids = samples.data(),
                   .x = x.data(),
                   .residual = dy.data(),
                   .y = y.data()});
  append(all, y);

  const Buffer logits(ops, DType::kF32, random_values(n, 117, 5.0)), max(ops, DType::kF32, Values(rows)),
      sum(ops, DType::kF32, Values(rows)), hit(ops, DType::kF32, Values(rows));
  const Array<uint8_t> mask(ops, std::vector<uint8_t>(rows, 1));
  const CrossEntropyArgs cross{.rows = rows,
                               .valid = cols - 3,
                               .cols = cols,
                               .ld = cols,
                               .logits = logits.floats(),
                               .targets = ids.data(),
                               .mask = mask.data(),
                               .local_max = max.floats(),
                               .max = max.floats(),
                               .sum = sum.floats(),
                               .target = hit.floats(),
                               .scale = 0.1f,
                               .dlogits = y.data(),
                               .dlogits_ld = cols,
                               .dlogits_dtype = dtype};
  ops.cross_entropy_statistics({}, cross);
  ops.cross_entropy_backward({}, cross);
  for (const Buffer* buffer : {&max, &sum, &hit, &y}) append(all, *buffer);

  const int64_t stride = 5 * 40;  // three heads, one pair of keys and values
  const Buffer qkv(ops, dtype, random_values(2 * 130 * stride, 118)),
      dqkv(ops, dtype, Values(2 * 130 * stride)), out(ops, dtype, Values(2 * 130 * 120));
  const Buffer dout(ops, dtype, random_values(2 * 130 * 120, 119)),
      lse(ops, DType::kF32, Values(2 * 3 * 130));
  const AttentionForwardArgs attention{.batch = 2,
                                       .sequence = 130,
                                       .heads = 3,
                                       .kv_heads = 1,
                                       .head_size = 40,
                                       .dtype = dtype,
                                       .scale = 0.2f,
                                       .q = qkv.at(0),
                                       .k = qkv.at(120),
                                       .v = qkv.at(160),
                                       .q_stride = stride,
                                       .k_stride = stride,
                                       .v_stride = stride,
                                       .out = out.data(),
                                       .out_stride = 120,
                                       .lse = lse.floats()};
  ops.attention_forward({}, attention);
  ops.attention_backward(
      {},
      {.forward = attention, .dout = dout.data(), .dq = dqkv.at(0), .dk = dqkv.at(120), .dv = dqkv.at(160)});
  for (const Buffer* buffer : {&out, &lse, &dqkv}) append(all, *buffer);
  return all;
}

TEST_P(ThreadsTest, ThreeGiveTheBitsOfOne) {
  const std::unique_ptr<Backend> three = GetParam().make(3);
  EXPECT_EQ(three->threads(), 3);
  for (DType dtype : kComputeTypes) {
    EXPECT_EQ(elementwise_bytes(ops(), dtype), elementwise_bytes(*three, dtype)) << name_of(dtype);
    EXPECT_EQ(row_bytes(ops(), dtype), row_bytes(*three, dtype)) << name_of(dtype);
  }
}

// Matmul may sum in another order with other threads, but never from run to run.
TEST_P(ThreadsTest, MatmulRepeats) {
  for (int threads : {1, 3}) {
    const std::unique_ptr<Backend> backend = GetParam().make(threads);
    for (DType dtype : kComputeTypes) {
      const Buffer a(*backend, dtype, random_values(65 * 300, 120)),
          b(*backend, dtype, random_values(300 * 129, 121));
      const Buffer c(*backend, DType::kF32, Values(65 * 129));
      const MatmulArgs args{.a = {a.data(), dtype, 65, 300, 300},
                            .b = {b.data(), dtype, 300, 129, 129},
                            .c = {c.data(), DType::kF32, 65, 129, 129}};
      backend->matmul({}, args);
      const auto first = c.raw();
      for (int run = 0; run < 3; ++run) {
        backend->matmul({}, args);
        EXPECT_EQ(c.raw(), first) << name_of(dtype) << " threads " << threads;
      }
    }
  }
}

}  // namespace
}  // namespace octant::test
