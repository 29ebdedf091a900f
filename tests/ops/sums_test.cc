#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(SumsTest);

TEST_P(SumsTest, BiasGradient) {
  for (DType dtype : kComputeTypes) {
    for (DType out_dtype : {dtype, DType::kF32}) {
      for (int64_t rows : {0, 1, 3, 257}) {
        for (int64_t cols : {1, 3, 17, 257, 600}) {
          for (int64_t padding : {0, 7}) {
            const int64_t ld = cols + padding;
            const Buffer dy(ops(), dtype, random_values(rows * ld, 71)),
                dbias(ops(), out_dtype, random_values(cols, 72));
            ops().bias_gradient(
                {},
                {.dy = {dy.data(), dtype, rows, cols, ld}, .dbias = dbias.data(), .dbias_dtype = out_dtype});
            Values expected(cols);
            for (int64_t j = 0; j < cols; ++j) {
              float sum = 0;
              for (int64_t r = 0; r < rows; ++r) sum += static_cast<float>(dy.values[r * ld + j]);
              expected[j] = rounded(static_cast<float>(dbias.values[j]) + sum, out_dtype);
            }
            EXPECT_EQ(dbias.read(), expected) << label(dtype, {rows, cols, padding});
            const Buffer fresh(ops(), out_dtype, Values(cols, std::nan("")));
            ops().bias_gradient({}, {.dy = {dy.data(), dtype, rows, cols, ld},
                                     .dbias = fresh.data(),
                                     .dbias_dtype = out_dtype,
                                     .accumulate = false});
            for (int64_t j = 0; j < cols; ++j) {
              float sum = 0;
              for (int64_t r = 0; r < rows; ++r) sum += static_cast<float>(dy.values[r * ld + j]);
              expected[j] = rounded(sum, out_dtype);
            }
            EXPECT_EQ(fresh.read(), expected) << label(dtype, {rows, cols, padding});
          }
        }
      }
    }
  }
}

TEST_P(SumsTest, SumSquares) {
  for (DType dtype : kComputeTypes) {
    for (int64_t n : {0, 1, 3, 17, 257, 16384, 50001}) {
      const Buffer x(ops(), dtype, random_values(n, 73, 100.0));
      const Array<double> out(ops(), {0.25});
      ops().sum_squares({}, {.n = n, .x = x.data(), .dtype = dtype, .out = out.data()});
      double expected = 0.25;
      for (double value : x.values) expected += value * value;
      EXPECT_NEAR(out.read()[0], expected, 1e-13 * expected) << label(dtype, {n});
    }
  }
}

// Squares past the range of float are still counted.
TEST_P(SumsTest, SumSquaresInDouble) {
  const Buffer x(ops(), DType::kF32, {1e30, 1e-30, 3e38});
  const Array<double> out(ops(), {0.0});
  ops().sum_squares({}, {.n = 3, .x = x.data(), .out = out.data()});
  EXPECT_NEAR(out.read()[0] / 9e76, 1.0, 1e-6);
}

TEST_P(SumsTest, SumSquaresHasTheSameBitsOnEveryInstructionSet) {
  const auto run = [](Backend& backend) {
    const Buffer x(backend, DType::kF32, random_values(40007, 74));
    const Array<double> out(backend, {0.0});
    backend.sum_squares({}, {.n = 40007, .x = x.data(), .out = out.data()});
    return out.read()[0];
  };
  const double here = run(ops());
  EXPECT_EQ(here, run(*factories().front().make(1)));
}

}  // namespace
}  // namespace octant::test
