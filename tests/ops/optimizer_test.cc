#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(OptimizerTest);

TEST_P(OptimizerTest, AdamwFollowsThePaper) {
  for (DType gradient_dtype : kComputeTypes) {
    for (DType dtype : kComputeTypes) {
      for (int64_t n : kOddSizes) {
        for (bool publish : {true, false}) {
          const Buffer w(ops(), DType::kF32, random_values(n, 81)),
              g(ops(), gradient_dtype, random_values(n, 82, 3.0));
          const Buffer m(ops(), DType::kF32, random_values(n, 83, 0.1)), p(ops(), dtype, Values(n, 9.0));
          Values squares = random_values(n, 84, 0.01);
          for (double& value : squares) value = std::abs(value);
          const Buffer v(ops(), DType::kF32, squares);
          AdamwArgs args{.n = n,
                         .master = w.floats(),
                         .gradient = g.data(),
                         .gradient_dtype = gradient_dtype,
                         .gradient_scale = 0.3f,
                         .exp_avg = m.floats(),
                         .exp_avg_sq = v.floats(),
                         .parameters = publish ? p.data() : nullptr,
                         .parameters_dtype = dtype,
                         .learning_rate = 0.01f,
                         .beta1 = 0.9f,
                         .beta2 = 0.95f,
                         .epsilon = 1e-8f,
                         .weight_decay = 0.1f,
                         .bias_correction1 = 0.271f,
                         .bias_correction2 = 0.142625f};
          ops().adamw({}, args);
          Values new_w(n), new_m(n), new_v(n);
          for (int64_t i = 0; i < n; ++i) {
            const double gradient = static_cast<double>(args.gradient_scale) * g.values[i];
            const double beta1 = args.beta1, beta2 = args.beta2;
            new_m[i] = beta1 * m.values[i] + (1 - beta1) * gradient;
            new_v[i] = beta2 * v.values[i] + (1 - beta2) * gradient * gradient;
            const double step = new_m[i] / args.bias_correction1 /
                                (std::sqrt(new_v[i] / args.bias_correction2) + args.epsilon);
            new_w[i] = w.values[i] -
                       args.learning_rate * (step + static_cast<double>(args.weight_decay) * w.values[i]);
          }
          const std::string what = label(gradient_dtype, {n}) + " " + std::string(name_of(dtype));
          expect_close(m.read(), new_m, DType::kF32, {1.0}, 3.0, "m " + what);
          expect_close(v.read(), new_v, DType::kF32, new_v, 6.0, "v " + what);
          const Values master = w.read();
          expect_close(master, new_w, DType::kF32, {1.0}, 2.0, "w " + what);
          Values published(n, 9.0);
          for (int64_t i = 0; i < n && publish; ++i) published[i] = rounded(master[i], dtype);
          EXPECT_EQ(p.read(), published) << what;
        }
      }
    }
  }
}

TEST_P(OptimizerTest, Sgd) {
  for (DType gradient_dtype : kComputeTypes) {
    for (DType dtype : kComputeTypes) {
      for (int64_t n : kOddSizes) {
        const Buffer w(ops(), DType::kF32, random_values(n, 85)),
            g(ops(), gradient_dtype, random_values(n, 86, 3.0)), p(ops(), dtype, Values(n));
        ops().sgd({}, {.n = n,
                       .master = w.floats(),
                       .gradient = g.data(),
                       .gradient_dtype = gradient_dtype,
                       .gradient_scale = 0.5f,
                       .parameters = p.data(),
                       .parameters_dtype = dtype,
                       .learning_rate = 0.1f,
                       .weight_decay = 0.01f});
        Values expected(n), published(n);
        for (int64_t i = 0; i < n; ++i) {
          expected[i] = w.values[i] - static_cast<double>(0.1f) *
                                          (0.5 * g.values[i] + static_cast<double>(0.01f) * w.values[i]);
        }
        const Values master = w.read();
        expect_close(master, expected, DType::kF32, {1.5}, 2.0, label(gradient_dtype, {n}));
        for (int64_t i = 0; i < n; ++i) published[i] = rounded(master[i], dtype);
        EXPECT_EQ(p.read(), published);
      }
    }
  }
}

// Without decay and with a zero gradient and zero moments nothing moves, epsilon or not.
TEST_P(OptimizerTest, AdamwStandsStillOnZeros) {
  const Buffer w(ops(), DType::kF32, {1.0, -2.0, 3.0}), zero(ops(), DType::kF32, Values(3)),
      m(ops(), DType::kF32, Values(3)), v(ops(), DType::kF32, Values(3));
  ops().adamw({}, {.n = 3,
                   .master = w.floats(),
                   .gradient = zero.data(),
                   .exp_avg = m.floats(),
                   .exp_avg_sq = v.floats(),
                   .learning_rate = 0.1f,
                   .beta1 = 0.9f,
                   .beta2 = 0.999f,
                   .epsilon = 1e-8f,
                   .bias_correction1 = 0.1f,
                   .bias_correction2 = 0.001f});
  EXPECT_EQ(w.read(), (Values{1.0, -2.0, 3.0}));
}

}  // namespace
}  // namespace octant::test
