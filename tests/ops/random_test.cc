#include "core/math/normal.h"
#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(RandomTest);

TEST_P(RandomTest, NormalFillIsAFunctionOfKeyAndIndex) {
  for (int64_t first : {int64_t{0}, int64_t{1}, int64_t{6}, (int64_t{1} << 33) + 5}) {
    for (int64_t n : kOddSizes) {
      const Buffer out(ops(), DType::kF32, Values(n));
      ops().normal_fill(
          {}, {.n = n, .key = 77, .first_index = first, .standard_deviation = 0.02f, .out = out.floats()});
      Values expected(n);
      for (int64_t i = 0; i < n; ++i) expected[i] = 0.02f * normal(77, static_cast<uint64_t>(first + i));
      const Values got = out.read();
      // The last bit of a float may hang on the last bits of a double; far from zero that is all.
      for (int64_t i = 0; i < n; ++i)
        EXPECT_NEAR(got[i], expected[i], std::abs(expected[i]) * 1.2e-7 + 1e-15) << first << " " << n;
    }
  }
}

TEST_P(RandomTest, NormalFillIsAlmostAlwaysTheVeryFloat) {
  constexpr int64_t kCount = 100'003;
  for (const int64_t first : {int64_t{3}, (int64_t{1} << 33) - 50'000}) {  // the counter's lower word wraps
    const Buffer out(ops(), DType::kF32, Values(kCount));
    ops().normal_fill({}, {.n = kCount, .key = 5, .first_index = first, .out = out.floats()});
    const Values got = out.read();
    int64_t different = 0;
    for (int64_t i = 0; i < kCount; ++i)
      different += got[i] != normal(5, static_cast<uint64_t>(first + i)) ? 1 : 0;
    EXPECT_LE(different, 1) << first;
  }
}

// Rows of samples out of order, starting inside a sample, with columns that are no multiple of a Philox
// block.
TEST_P(RandomTest, DropoutMaskIsAFunctionOfTheGlobalElement) {
  constexpr int64_t kSequence = 4, kFirstRow = 3, kRows = 7;
  const std::vector<int64_t> samples = {5, int64_t{1} << 31, 0};
  for (DType dtype : kComputeTypes) {
    for (int64_t cols : {1, 3, 17, 257, 1025}) {
      for (float probability : {0.0f, 0.1f, 0.5f, 1.0f}) {
        for (bool residual : {false, true}) {
          const Buffer x(ops(), dtype, random_values(kRows * cols, 91)),
              r(ops(), dtype, random_values(kRows * cols, 92)), y(ops(), dtype, Values(kRows * cols));
          const Array<int64_t> ids(ops(), samples);
          DropoutArgs args{.rows = kRows,
                           .cols = cols,
                           .first_row = kFirstRow,
                           .sequence = kSequence,
                           .dtype = dtype,
                           .probability = probability,
                           .key = 0x123456789ABCDEFull,
                           .sample_ids = ids.data(),
                           .x = x.data(),
                           .residual = residual ? r.data() : nullptr,
                           .y = y.data()};
          ops().dropout({}, args);
          Values expected(kRows * cols);
          for (int64_t row = 0; row < kRows; ++row) {
            const int64_t token = kFirstRow + row;
            for (int64_t j = 0; j < cols; ++j) {
              const uint64_t element = static_cast<uint64_t>(
                  (samples[token / kSequence] * kSequence + token % kSequence) * cols + j);
              const bool keep = static_cast<double>(random_u32(args.key, element) >> 8) / 16777216.0 >=
                                static_cast<double>(probability);
              const int64_t at = row * cols + j;
              expected[at] = (residual ? r.values[at] : 0.0) +
                             (keep ? x.values[at] / (1.0 - static_cast<double>(probability)) : 0.0);
            }
          }
          const Values separate = y.read();
          expect_close(separate, expected, dtype, {3.0}, 2.0, label(dtype, {cols, residual}));
          args.y = residual ? r.data() : x.data();
          ops().dropout({}, args);
          EXPECT_EQ(residual ? r.read() : x.read(), separate) << "in place";
        }
      }
    }
  }
}

// The counter's lower word wraps inside the row.
TEST_P(RandomTest, DropoutAcrossTheCountersWrap) {
  const int64_t cols = 400, element = (int64_t{1} << 34) - 200;
  const Buffer x(ops(), DType::kF32, Values(cols, 1.0)), y(ops(), DType::kF32, Values(cols));
  // One row whose first element is sample · cols; samples of `cols` elements reach the wrap at 2^34 / 400.
  const int64_t sample = element / cols;
  const Array<int64_t> ids(ops(), {sample});
  ops().dropout({}, {.rows = 1,
                     .cols = cols,
                     .first_row = 0,
                     .sequence = 1,
                     .probability = 0.5f,
                     .key = 3,
                     .sample_ids = ids.data(),
                     .x = x.data(),
                     .y = y.data()});
  Values expected(cols);
  for (int64_t j = 0; j < cols; ++j)
    expected[j] = (random_u32(3, static_cast<uint64_t>(sample * cols + j)) >> 31) != 0 ? 2.0 : 0.0;
  ASSERT_LT(sample * cols, int64_t{1} << 34);
  ASSERT_GT((sample + 1) * cols, int64_t{1} << 34);
  EXPECT_EQ(y.read(), expected);
}

TEST_P(RandomTest, DropoutKeepsItsShare) {
  const int64_t cols = 100000;
  const Buffer x(ops(), DType::kF32, Values(cols, 1.0)), y(ops(), DType::kF32, Values(cols));
  const Array<int64_t> ids(ops(), {0});
  ops().dropout({}, {.rows = 1,
                     .cols = cols,
                     .first_row = 0,
                     .sequence = 1,
                     .probability = 0.1f,
                     .key = 11,
                     .sample_ids = ids.data(),
                     .x = x.data(),
                     .y = y.data()});
  int64_t kept = 0;
  for (double value : y.read()) kept += value != 0.0;
  EXPECT_NEAR(static_cast<double>(kept), 0.9 * cols, 4.0 * std::sqrt(0.09 * cols));
}

}  // namespace
}  // namespace octant::test
