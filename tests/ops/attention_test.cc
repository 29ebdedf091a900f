#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(AttentionTest);

struct Case {
  int64_t batch, sequence, heads, kv_heads, size;
  bool fused = false;  // q, k, v side by side in one row, as the fused projection leaves them
};

struct Reference {
  Values out, lse, dq, dk, dv;
  // The sums of the magnitudes of what these are sums of.
  Values out_terms, dq_terms, dk_terms, dv_terms;
};

// Dense and in double: rows of (heads · D) and (kv_heads · D).
Reference reference(const Case& c, double scale, const Values& q, const Values& k, const Values& v,
                    const Values& dout) {
  const int64_t T = c.sequence, D = c.size, H = c.heads, K = c.kv_heads;
  Reference r{Values(q.size()), Values(c.batch * H * T), Values(q.size()), Values(k.size()), Values(v.size()),
              Values(q.size()), Values(q.size()),        Values(k.size()), Values(v.size())};
  const auto add = [](double& sum, double& terms, double term) {
    sum += term;
    terms += std::abs(term);
  };
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t h = 0; h < H; ++h) {
      const int64_t g = h / (H / K);
      const auto query = [&](int64_t t) { return ((b * T + t) * H + h) * D; };
      const auto key = [&](int64_t t) { return ((b * T + t) * K + g) * D; };
      for (int64_t i = 0; i < T; ++i) {
        Values score(i + 1), dp(i + 1);
        double max = -INFINITY, sum = 0, mean = 0;
        for (int64_t j = 0; j <= i; ++j) {
          for (int64_t d = 0; d < D; ++d) score[j] += scale * q[query(i) + d] * k[key(j) + d];
          max = std::max(max, score[j]);
        }
        for (double s : score) sum += std::exp(s - max);
        r.lse[(b * H + h) * T + i] = max + std::log(sum);
        for (int64_t j = 0; j <= i; ++j) {
          score[j] = std::exp(score[j] - max) / sum;
          for (int64_t d = 0; d < D; ++d) {
            add(r.out[query(i) + d], r.out_terms[query(i) + d], score[j] * v[key(j) + d]);
            dp[j] += dout.empty() ? 0.0 : dout[query(i) + d] * v[key(j) + d];
          }
          mean += score[j] * dp[j];
        }
        if (dout.empty()) continue;
        for (int64_t j = 0; j <= i; ++j) {
          const double ds = score[j] * (dp[j] - mean) * scale;
          for (int64_t d = 0; d < D; ++d) {
            add(r.dq[query(i) + d], r.dq_terms[query(i) + d], ds * k[key(j) + d]);
            add(r.dk[key(j) + d], r.dk_terms[key(j) + d], ds * q[query(i) + d]);
            add(r.dv[key(j) + d], r.dv_terms[key(j) + d], score[j] * dout[query(i) + d]);
          }
        }
      }
    }
  }
  return r;
}

// Copies rows of `width` between a dense tensor and one with `stride` from `offset` on.
Values spread(const Values& dense, int64_t width, int64_t stride, int64_t offset, Values into) {
  for (size_t i = 0; i < dense.size(); ++i) into[i / width * stride + offset + i % width] = dense[i];
  return into;
}
Values gather(const Values& from, int64_t width, int64_t stride, int64_t offset, size_t count) {
  Values dense(count);
  for (size_t i = 0; i < count; ++i) dense[i] = from[i / width * stride + offset + i % width];
  return dense;
}

struct Result {
  Values out, lse, dq, dk, dv;
};

struct Inputs {
  Values q, k, v, dout;
};

Inputs inputs_of(const Case& c, DType dtype, double spread_of_q) {
  const int64_t rows = c.batch * c.sequence;
  const auto make = [&](int64_t heads, uint64_t seed, double scale) {
    Values values = random_values(rows * heads * c.size, seed, scale);
    for (double& value : values) value = rounded(value, dtype);
    return values;
  };
  return {make(c.heads, 21, spread_of_q), make(c.kv_heads, 22, 1.0), make(c.kv_heads, 23, 1.0),
          make(c.heads, 24, 1.0)};
}

Result run(Backend& ops, const Case& c, DType dtype, float scale, const Inputs& in) {
  const int64_t rows = c.batch * c.sequence, q_width = c.heads * c.size, kv_width = c.kv_heads * c.size;
  const int64_t padding = c.fused ? 3 : 0;
  const int64_t stride = q_width + 2 * kv_width + padding;
  const int64_t out_stride = q_width + padding;
  Values fused(rows * stride, 7.0);
  fused = spread(in.q, q_width, stride, 0, fused);
  fused = spread(in.k, kv_width, stride, q_width, fused);
  fused = spread(in.v, kv_width, stride, q_width + kv_width, fused);
  const Buffer qkv(ops, dtype, fused), dqkv(ops, dtype, Values(rows * stride, 7.0));
  const Buffer out(ops, dtype, Values(rows * out_stride, 7.0));
  const Buffer dout(ops, dtype, spread(in.dout, q_width, out_stride, 0, Values(rows * out_stride, 7.0)));
  const Buffer lse(ops, DType::kF32, Values(c.batch * c.heads * c.sequence));
  AttentionForwardArgs forward{.batch = c.batch,
                               .sequence = c.sequence,
                               .heads = c.heads,
                               .kv_heads = c.kv_heads,
                               .head_size = c.size,
                               .dtype = dtype,
                               .scale = scale,
                               .q = qkv.at(0),
                               .k = qkv.at(q_width),
                               .v = qkv.at(q_width + kv_width),
                               .q_stride = stride,
                               .k_stride = stride,
                               .v_stride = stride,
                               .out = out.data(),
                               .out_stride = out_stride,
                               .lse = lse.floats()};
  ops.attention_forward({}, forward);
  ops.attention_backward({}, {.forward = forward,
                              .dout = dout.data(),
                              .dq = dqkv.at(0),
                              .dk = dqkv.at(q_width),
                              .dv = dqkv.at(q_width + kv_width)});
  const Values o = out.read(), d = dqkv.read();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t p = 0; p < padding; ++p) {
      EXPECT_EQ(o[r * out_stride + q_width + p], 7.0) << "written past the heads";
      EXPECT_EQ(d[r * stride + stride - padding + p], 7.0) << "written past the heads";
    }
  }
  return {gather(o, q_width, out_stride, 0, in.q.size()), lse.read(),
          gather(d, q_width, stride, 0, in.q.size()), gather(d, kv_width, stride, q_width, in.k.size()),
          gather(d, kv_width, stride, q_width + kv_width, in.v.size())};
}

TEST_P(AttentionTest, EveryShapeAgainstTheDenseForm) {
  const std::vector<Case> cases = {{1, 1, 1, 1, 1},    {2, 3, 2, 1, 3},         {1, 17, 3, 3, 17},
                                   {2, 64, 2, 2, 8},   {1, 65, 4, 2, 64, true}, {1, 129, 2, 1, 33, true},
                                   {1, 257, 1, 1, 16}, {1, 70, 1, 1, 256}};
  for (DType dtype : kComputeTypes) {
    for (const Case& c : cases) {
      const float scale = 1.0f / std::sqrt(static_cast<float>(c.size));
      const Inputs in = inputs_of(c, dtype, 3.0);
      const Result got = run(ops(), c, dtype, scale, in);
      const Reference want = reference(c, scale, in.q, in.k, in.v, in.dout);
      const std::string what = label(dtype, {c.batch, c.sequence, c.heads, c.kv_heads, c.size});
      const double T = static_cast<double>(c.sequence), D = static_cast<double>(c.size);
      const double group = static_cast<double>(c.heads / c.kv_heads);
      // delta comes from the stored, rounded output; that rounding reaches dscores.
      const double stored = dtype == DType::kF32 ? 0.0 : unit_roundoff(dtype) / 0x1p-24 * std::sqrt(D);
      // bf16 products take probabilities and their gradients rounded: each term is off by half a unit.
      const double factors = dtype == DType::kBF16 ? 1.01 * unit_roundoff(dtype) / 0x1p-24 : 0.0;
      const auto check = [&](const Values& actual, const Values& expected, const Values& terms, double rest,
                             const char* name) {
        Values bounds(terms.size());
        for (size_t i = 0; i < terms.size(); ++i) bounds[i] = rest + factors * terms[i];
        expect_close(actual, expected, dtype, bounds, 1.0, name + what);
      };
      check(got.out, want.out, want.out_terms, 16.0 + std::sqrt(D), "out ");
      expect_close(got.lse, want.lse, DType::kF32, {8.0}, 4.0 + std::sqrt(D), "lse " + what);
      check(got.dv, want.dv, want.dv_terms, group * (32.0 + 2 * std::sqrt(T)), "dv ");
      check(got.dk, want.dk, want.dk_terms, group * (64.0 + 8 * std::sqrt(T) + 0.7 * stored), "dk ");
      check(got.dq, want.dq, want.dq_terms, 64.0 + 8 * std::sqrt(D) + 0.7 * stored, "dq ");
    }
  }
}

TEST_P(AttentionTest, BackwardIsTheDerivative) {
  const Case c{1, 5, 4, 2, 3};
  const float scale = 0.6f;
  const Inputs in = inputs_of(c, DType::kF32, 1.0);
  const Result got = run(ops(), c, DType::kF32, scale, in);
  const auto loss = [&](const Values& q, const Values& k, const Values& v) {
    const Values out = reference(c, scale, q, k, v, {}).out;
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += out[i] * in.dout[i];
    return sum;
  };
  expect_close(got.dq, numeric_gradient(in.q, [&](const Values& x) { return loss(x, in.k, in.v); }),
               DType::kF32, {1.0}, 40, "dq");
  expect_close(got.dk, numeric_gradient(in.k, [&](const Values& x) { return loss(in.q, x, in.v); }),
               DType::kF32, {1.0}, 40, "dk");
  expect_close(got.dv, numeric_gradient(in.v, [&](const Values& x) { return loss(in.q, in.k, x); }),
               DType::kF32, {1.0}, 40, "dv");
}

// Scores far apart must not overflow, and the largest must win.
TEST_P(AttentionTest, LargeScores) {
  const Case c{1, 130, 1, 1, 4};
  Inputs in = inputs_of(c, DType::kF32, 200.0);
  const Result got = run(ops(), c, DType::kF32, 1.0f, in);
  const Reference want = reference(c, 1.0, in.q, in.k, in.v, in.dout);
  expect_close(got.out, want.out, DType::kF32, {1.0}, 2000.0, "out");
  expect_close(got.lse, want.lse, DType::kF32, {800.0}, 8.0, "lse");
}

// A run that diverges must be seen to: a NaN in a query or a key reaches everything computed from it.
TEST_P(AttentionTest, NaNsAreKept) {
  const Case c{1, 70, 2, 2, 16};
  const int64_t token = 40, width = 32;
  for (DType dtype : kComputeTypes) {
    Inputs in = inputs_of(c, dtype, 2.0);
    in.q[token * width + 5] = NAN;
    const Result query = run(ops(), c, dtype, 0.25f, in);
    for (int64_t d = 0; d < 16; ++d) {
      EXPECT_TRUE(std::isnan(query.out[token * width + d])) << name_of(dtype) << d;
      EXPECT_TRUE(std::isnan(query.dq[token * width + d])) << name_of(dtype) << d;
      EXPECT_TRUE(std::isnan(query.dk[d])) << name_of(dtype) << d;
      EXPECT_FALSE(std::isnan(query.out[(token + 1) * width + d])) << name_of(dtype) << d;
    }
    in = inputs_of(c, dtype, 2.0);
    in.k[token * width + 5] = NAN;
    const Result key = run(ops(), c, dtype, 0.25f, in);
    for (int64_t d = 0; d < 16; ++d) {
      EXPECT_TRUE(std::isnan(key.out[69 * width + d])) << name_of(dtype) << d;
      EXPECT_TRUE(std::isnan(key.dv[token * width + d])) << name_of(dtype) << d;
      EXPECT_FALSE(std::isnan(key.out[69 * width + 16 + d])) << name_of(dtype) << d;
    }
  }
}

// What a rank computes for a head does not depend on the heads and sequences beside it, nor on later tokens.
TEST_P(AttentionTest, HeadsSequencesAndPrefixesAreIndependent) {
  const Case whole{2, 100, 4, 2, 24};
  for (DType dtype : kComputeTypes) {
    const Inputs in = inputs_of(whole, dtype, 2.0);
    const Result all = run(ops(), whole, dtype, 0.2f, in);
    const Case part{1, 100, 2, 1, 24};
    const auto cut = [&](const Values& from, int64_t heads, int64_t keep, int64_t first, int64_t batch) {
      Values to;
      for (int64_t t = 0; t < 100; ++t) {
        const auto begin = from.begin() + ((batch * 100 + t) * heads + first) * 24;
        to.insert(to.end(), begin, begin + keep * 24);
      }
      return to;
    };
    const Inputs half{cut(in.q, 4, 2, 2, 1), cut(in.k, 2, 1, 1, 1), cut(in.v, 2, 1, 1, 1),
                      cut(in.dout, 4, 2, 2, 1)};
    const Result one = run(ops(), part, dtype, 0.2f, half);
    EXPECT_EQ(one.out, cut(all.out, 4, 2, 2, 1));
    EXPECT_EQ(one.dq, cut(all.dq, 4, 2, 2, 1));
    EXPECT_EQ(one.dk, cut(all.dk, 2, 1, 1, 1));
    EXPECT_EQ(one.dv, cut(all.dv, 2, 1, 1, 1));

    const Case prefix{1, 37, 4, 2, 24};
    const auto head_of = [&](const Values& from, int64_t heads) {
      return Values(from.begin(), from.begin() + 37 * heads * 24);
    };
    const Result early = run(ops(), prefix, dtype, 0.2f,
                             {head_of(in.q, 4), head_of(in.k, 2), head_of(in.v, 2), head_of(in.dout, 4)});
    EXPECT_EQ(early.out, head_of(all.out, 4));
    EXPECT_EQ(early.dq, head_of(all.dq, 4));
  }
}

}  // namespace
}  // namespace octant::test
