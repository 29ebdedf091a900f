#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(NormTest);

constexpr double kEpsilon = 1e-5f;

// One row in double.
Values normalised(const Values& x, bool rms) {
  const double n = static_cast<double>(x.size());
  double mean = 0, square = 0;
  for (double value : x) mean += rms ? 0.0 : value / n;
  for (double value : x) square += (value - mean) * (value - mean) / n;
  Values y;
  for (double value : x) y.push_back((value - mean) / std::sqrt(square + kEpsilon));
  return y;
}

Values row_of(const Values& all, int64_t row, int64_t cols) {
  return {all.begin() + row * cols, all.begin() + (row + 1) * cols};
}

void check(Backend& ops, DType dtype, DType gradient_dtype, bool rms, int64_t rows, int64_t cols,
           bool in_place) {
  const std::string what = label(dtype, {rms, rows, cols});
  Values source = random_values(rows * cols, 31, 2.0);
  for (double& value : source) value += 0.5;
  const Buffer x(ops, dtype, source), dy(ops, dtype, random_values(rows * cols, 32));
  const Buffer gamma(ops, dtype, random_values(cols, 33, 2.0)), beta(ops, dtype, random_values(cols, 34));
  const Buffer y(ops, dtype, Values(rows * cols)), mean(ops, DType::kF32, Values(rows)),
      rstd(ops, DType::kF32, Values(rows));
  ops.norm_forward({}, {.rms = rms,
                        .rows = rows,
                        .cols = cols,
                        .dtype = dtype,
                        .x = x.data(),
                        .gamma = gamma.data(),
                        .beta = rms ? nullptr : beta.data(),
                        .epsilon = 1e-5f,
                        .y = y.data(),
                        .mean = rms ? nullptr : mean.floats(),
                        .rstd = rstd.floats()});
  const Buffer dx(ops, dtype, Values(rows * cols)), dgamma(ops, gradient_dtype, random_values(cols, 35));
  const Buffer dbeta(ops, gradient_dtype, random_values(cols, 36));
  ops.norm_backward({}, {.rms = rms,
                         .rows = rows,
                         .cols = cols,
                         .dtype = dtype,
                         .x = x.data(),
                         .dy = dy.data(),
                         .gamma = gamma.data(),
                         .mean = rms ? nullptr : mean.floats(),
                         .rstd = rstd.floats(),
                         .dx = in_place ? dy.data() : dx.data(),
                         .dgamma = dgamma.data(),
                         .dbeta = rms ? nullptr : dbeta.data(),
                         .gradient_dtype = gradient_dtype});

  Values expected_y, expected_dx, size_y, size_dx, expected_dgamma = dgamma.values,
                                                   expected_dbeta = dbeta.values;
  Values size_dgamma(cols), size_dbeta(cols);
  for (int64_t r = 0; r < rows; ++r) {
    const Values in = row_of(x.values, r, cols);
    const Values h = normalised(in, rms);
    double spread = 0;
    for (int64_t j = 0; j < cols; ++j) spread = std::max(spread, std::abs(h[j]));
    const double inverse = rstd.read()[r];
    for (int64_t j = 0; j < cols; ++j) {
      const double d = dy.values[r * cols + j];
      expected_y.push_back(h[j] * gamma.values[j] + (rms ? 0.0 : beta.values[j]));
      size_y.push_back((1.0 + spread + 2.5 * inverse) * std::abs(gamma.values[j]) + 1.0);
      expected_dgamma[j] += d * h[j];
      expected_dbeta[j] += d;
      size_dgamma[j] += std::abs(d) * (1.0 + spread + 2.5 * inverse) + 1.0;
      size_dbeta[j] += std::abs(d) + 1.0;
    }
    const Values gradient = numeric_gradient(
        in,
        [&](const Values& moved) {
          const Values out = normalised(moved, rms);
          double loss = 0;
          for (int64_t j = 0; j < cols; ++j) loss += out[j] * gamma.values[j] * dy.values[r * cols + j];
          return loss;
        },
        1e-4);
    expected_dx.insert(expected_dx.end(), gradient.begin(), gradient.end());
    for (int64_t j = 0; j < cols; ++j)
      size_dx.push_back(inverse * (2.0 + 2.0 * spread * spread) * (1.0 + 2.5 * inverse) + 1.0);
  }
  // A row of one element has variance zero: LayerNorm's gradient is a difference of equals, scaled by
  // 1/sqrt(epsilon).
  expect_close(y.read(), expected_y, dtype, size_y, 8.0, "y " + what);
  expect_close(in_place ? dy.read() : dx.read(), expected_dx, dtype, size_dx, 16.0, "dx " + what);
  expect_close(dgamma.read(), expected_dgamma, gradient_dtype, size_dgamma, 8.0, "dgamma " + what);
  if (!rms) expect_close(dbeta.read(), expected_dbeta, gradient_dtype, size_dbeta, 8.0, "dbeta " + what);
}

TEST_P(NormTest, ForwardAndDerivative) {
  for (DType dtype : kComputeTypes) {
    for (bool rms : {false, true}) {
      for (int64_t rows : {1, 3, 17}) {
        for (int64_t cols : kOddSizes)
          check(ops(), dtype, rows == 3 ? dtype : DType::kF32, rms, rows, cols, rows == 17);
      }
    }
  }
}

TEST_P(NormTest, StatisticsOfARow) {
  const int64_t cols = 1000;
  Values source = random_values(cols, 37);
  for (double& value : source) value += 100.0;
  const Buffer x(ops(), DType::kF32, source), one(ops(), DType::kF32, Values(cols, 1.0)),
      zero(ops(), DType::kF32, Values(cols));
  const Buffer y(ops(), DType::kF32, Values(cols)), mean(ops(), DType::kF32, Values(1)),
      rstd(ops(), DType::kF32, Values(1));
  ops().norm_forward({}, {.rows = 1,
                          .cols = cols,
                          .x = x.data(),
                          .gamma = one.data(),
                          .beta = zero.data(),
                          .y = y.data(),
                          .mean = mean.floats(),
                          .rstd = rstd.floats()});
  double expected = 0, variance = 0;
  for (double value : x.values) expected += value / cols;
  for (double value : x.values) variance += (value - expected) * (value - expected) / cols;
  EXPECT_NEAR(mean.read()[0], expected, 100.0 * 0x1p-22);
  EXPECT_NEAR(rstd.read()[0], 1.0 / std::sqrt(variance + kEpsilon), 2e-6);
}

TEST_P(NormTest, NoRows) {
  const Buffer gamma(ops(), DType::kF32, Values(4, 1.0)), gradient(ops(), DType::kF32, Values(4, 2.0));
  ops().norm_forward({}, {.rms = true, .rows = 0, .cols = 4, .gamma = gamma.data()});
  ops().norm_backward({},
                      {.rms = true, .rows = 0, .cols = 4, .gamma = gamma.data(), .dgamma = gradient.data()});
  EXPECT_EQ(gradient.read(), Values(4, 2.0));
}

}  // namespace
}  // namespace octant::test
