#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(ActivationTest);

double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}
double silu(double x) {
  return x / (1.0 + std::exp(-x));
}
double slope(const std::function<double(double)>& f, double x) {
  return numeric_gradient({x}, [&](const Values& at) { return f(at[0]); })[0];
}

TEST_P(ActivationTest, GeluForward) {
  for (DType dtype : kComputeTypes) {
    for (int64_t n : kOddSizes) {
      const Buffer x(ops(), dtype, random_values(n, 5, 6.0)), y(ops(), dtype, Values(n));
      ops().gelu_forward({}, {.n = n, .dtype = dtype, .x = x.data(), .out = y.data()});
      Values expected(n), magnitude(n);
      for (int64_t i = 0; i < n; ++i) {
        expected[i] = gelu(x.values[i]);
        magnitude[i] = std::abs(expected[i]) * (1.0 + std::pow(std::abs(x.values[i]), 3)) + 1e-9;
      }
      expect_close(y.read(), expected, dtype, magnitude, 6.0, label(dtype, {n}));
    }
  }
}

TEST_P(ActivationTest, GeluBackwardIsTheDerivative) {
  for (DType dtype : kComputeTypes) {
    for (int64_t n : kOddSizes) {
      const Buffer x(ops(), dtype, random_values(n, 6, 6.0)), dy(ops(), dtype, random_values(n, 7)),
          dx(ops(), dtype, Values(n));
      GeluArgs args{.n = n, .dtype = dtype, .x = x.data(), .dy = dy.data(), .out = dx.data()};
      ops().gelu_backward({}, args);
      Values expected(n), magnitude(n);
      for (int64_t i = 0; i < n; ++i) {
        expected[i] = dy.values[i] * slope(gelu, x.values[i]);
        magnitude[i] = std::abs(dy.values[i]) * (2.0 + std::abs(x.values[i]));
      }
      const Values separate = dx.read();
      expect_close(separate, expected, dtype, magnitude, 10.0, label(dtype, {n}));
      const Buffer again(ops(), dtype, Values(n));
      args.out = dy.data();
      args.y = again.data();
      ops().gelu_backward({}, args);
      for (int64_t i = 0; i < n; ++i) {
        expected[i] = gelu(x.values[i]);
        magnitude[i] = std::abs(expected[i]) * (1.0 + std::pow(std::abs(x.values[i]), 3)) + 1e-9;
      }
      expect_close(again.read(), expected, dtype, magnitude, 6.0, label(dtype, {n}) + " output again");
      EXPECT_EQ(dy.read(), separate) << "in place";
    }
  }
}

TEST_P(ActivationTest, GeluFarOut) {
  const Values source = {-1e30, -100.0, -20.0, -0.0, 0.0, 20.0, 100.0, 1e30, std::nan("")};
  const int64_t n = static_cast<int64_t>(source.size());
  const Buffer x(ops(), DType::kF32, source), dy(ops(), DType::kF32, Values(n, 1.0)),
      y(ops(), DType::kF32, Values(n));
  ops().gelu_forward({}, {.n = n, .x = x.data(), .out = y.data()});
  const Values forward = y.read();
  ops().gelu_backward({}, {.n = n, .x = x.data(), .dy = dy.data(), .out = y.data()});
  const Values backward = y.read();
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(forward[i], 0.0) << i;
  for (int64_t i = 5; i < 8; ++i) EXPECT_EQ(forward[i], x.values[i]) << i;
  EXPECT_TRUE(std::isnan(forward[8]));
  for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(backward[i], 0.0, 1e-30) << i;
  for (int64_t i = 5; i < 8; ++i) EXPECT_EQ(backward[i], 1.0) << i;
  EXPECT_TRUE(std::isnan(backward[8]));
}

TEST_P(ActivationTest, Swiglu) {
  for (DType dtype : kComputeTypes) {
    for (int64_t rows : {1, 3}) {
      for (int64_t ffn : kOddSizes) {
        const Buffer in(ops(), dtype, random_values(rows * 2 * ffn, 8, 5.0)),
            dy(ops(), dtype, random_values(rows * ffn, 9));
        const Buffer y(ops(), dtype, Values(rows * ffn)), dx(ops(), dtype, Values(rows * 2 * ffn));
        SwigluArgs args{
            .rows = rows, .ffn = ffn, .dtype = dtype, .gate_up = in.data(), .dy = dy.data(), .out = y.data()};
        ops().swiglu_forward({}, args);
        args.out = dx.data();
        ops().swiglu_backward({}, args);
        Values forward(rows * ffn), backward(rows * 2 * ffn), forward_size(rows * ffn),
            backward_size(rows * 2 * ffn);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t i = 0; i < ffn; ++i) {
            const int64_t g = r * 2 * ffn + i, u = g + ffn, o = r * ffn + i;
            const double gate = in.values[g], up = in.values[u];
            forward[o] = silu(gate) * up;
            forward_size[o] = std::abs(forward[o]);
            backward[g] = dy.values[o] * up * slope(silu, gate);
            backward_size[g] = std::abs(dy.values[o] * up) * (1.0 + std::abs(gate));
            backward[u] = dy.values[o] * silu(gate);
            backward_size[u] = std::abs(backward[u]);
          }
        }
        expect_close(y.read(), forward, dtype, forward_size, 10.0, "forward " + label(dtype, {rows, ffn}));
        const Values separate = dx.read();
        expect_close(separate, backward, dtype, backward_size, 10.0, "backward " + label(dtype, {rows, ffn}));
        const Buffer again(ops(), dtype, Values(rows * ffn));
        args.out = in.data();
        args.y = again.data();
        ops().swiglu_backward({}, args);
        EXPECT_EQ(in.read(), separate) << "in place";
        expect_close(again.read(), forward, dtype, forward_size, 10.0,
                     "output again " + label(dtype, {rows, ffn}));
      }
    }
  }
}

}  // namespace
}  // namespace octant::test
