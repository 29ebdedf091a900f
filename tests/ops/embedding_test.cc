#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(EmbeddingTest);

// Ids on both sides of the part that this rank holds, [10, 15), one of them twice.
const std::vector<int32_t> kIds = {12, 9, 10, 14, 15, 12, 0};
constexpr int64_t kFirst = 10, kTableRows = 5, kRows = 7;

TEST_P(EmbeddingTest, ForwardTakesOnlyTheRowsHeld) {
  for (DType dtype : kComputeTypes) {
    for (int64_t cols : kOddSizes) {
      const Buffer table(ops(), dtype, random_values(kTableRows * cols, 51)),
          out(ops(), dtype, Values(kRows * cols, 9.0));
      const Array<int32_t> ids(ops(), kIds);
      ops().embedding_forward({}, {.rows = kRows,
                                   .cols = cols,
                                   .first_id = kFirst,
                                   .table_rows = kTableRows,
                                   .dtype = dtype,
                                   .ids = ids.data(),
                                   .table = table.data(),
                                   .out = out.data()});
      Values expected(kRows * cols);
      for (int64_t r = 0; r < kRows; ++r) {
        const int64_t local = kIds[r] - kFirst;
        for (int64_t j = 0; j < cols && local >= 0 && local < kTableRows; ++j)
          expected[r * cols + j] = table.values[local * cols + j];
      }
      EXPECT_EQ(out.read(), expected) << label(dtype, {cols});
    }
  }
}

TEST_P(EmbeddingTest, BackwardAddsInRowOrder) {
  for (DType dtype : kComputeTypes) {
    for (DType gradient_dtype : {dtype, DType::kF32}) {
      for (int64_t cols : kOddSizes) {
        const Buffer dy(ops(), dtype, random_values(kRows * cols, 52)),
            dtable(ops(), gradient_dtype, random_values(kTableRows * cols, 53));
        const Array<int32_t> ids(ops(), kIds);
        ops().embedding_backward({}, {.rows = kRows,
                                      .cols = cols,
                                      .first_id = kFirst,
                                      .table_rows = kTableRows,
                                      .dtype = dtype,
                                      .gradient_dtype = gradient_dtype,
                                      .ids = ids.data(),
                                      .dy = dy.data(),
                                      .dtable = dtable.data()});
        Values expected = dtable.values;
        for (int64_t r = 0; r < kRows; ++r) {
          const int64_t local = kIds[r] - kFirst;
          if (local < 0 || local >= kTableRows) continue;
          for (int64_t j = 0; j < cols; ++j) {
            double& sum = expected[local * cols + j];
            sum = rounded(sum + dy.values[r * cols + j], gradient_dtype);
          }
        }
        EXPECT_EQ(dtable.read(), expected) << label(dtype, {cols});
      }
    }
  }
}

TEST_P(EmbeddingTest, Positions) {
  constexpr int64_t kSequence = 5, kFirstRow = 3;
  for (DType dtype : kComputeTypes) {
    for (int64_t cols : kOddSizes) {
      const Buffer table(ops(), dtype, random_values(kSequence * cols, 54)),
          x(ops(), dtype, random_values(kRows * cols, 55));
      const Buffer dtable(ops(), DType::kF32, random_values(kSequence * cols, 56));
      ops().position_backward({}, {.rows = kRows,
                                   .cols = cols,
                                   .first_row = kFirstRow,
                                   .sequence = kSequence,
                                   .dtype = dtype,
                                   .gradient_dtype = DType::kF32,
                                   .dy = x.data(),
                                   .dtable = dtable.data()});
      ops().position_forward({}, {.rows = kRows,
                                  .cols = cols,
                                  .first_row = kFirstRow,
                                  .sequence = kSequence,
                                  .dtype = dtype,
                                  .table = table.data(),
                                  .x = x.data()});
      Values forward = x.values, backward = dtable.values;
      for (int64_t r = 0; r < kRows; ++r) {
        const int64_t position = (kFirstRow + r) % kSequence;
        for (int64_t j = 0; j < cols; ++j) {
          forward[r * cols + j] = rounded(x.values[r * cols + j] + table.values[position * cols + j], dtype);
          backward[position * cols + j] =
              static_cast<float>(backward[position * cols + j] + x.values[r * cols + j]);
        }
      }
      EXPECT_EQ(x.read(), forward) << label(dtype, {cols});
      EXPECT_EQ(dtable.read(), backward) << label(dtype, {cols});
    }
  }
}

TEST_P(EmbeddingTest, Rotary) {
  constexpr int64_t kSequence = 4, kHeads = 2, kPad = 3;
  for (DType dtype : kComputeTypes) {
    for (int64_t size : {2, 6, 34, 64}) {
      for (bool inverse : {false, true}) {
        const int64_t stride = kHeads * size + kPad;
        const Buffer x(ops(), dtype, random_values(kRows * stride, 57, 2.0));
        RotaryArgs args{.rows = kRows,
                        .sequence = kSequence,
                        .heads = kHeads,
                        .head_size = size,
                        .row_stride = stride,
                        .dtype = dtype,
                        .base = 500.0f,
                        .inverse = inverse,
                        .x = x.data()};
        ops().rotary({}, args);
        Values expected = x.values;
        for (int64_t r = 0; r < kRows; ++r) {
          for (int64_t h = 0; h < kHeads; ++h) {
            for (int64_t i = 0; i < size / 2; ++i) {
              const double angle =
                  static_cast<double>(r % kSequence) *
                  std::pow(500.0, -2.0 * static_cast<double>(i) / static_cast<double>(size)) *
                  (inverse ? -1 : 1);
              const int64_t low = r * stride + h * size + i, high = low + size / 2;
              expected[low] = x.values[low] * std::cos(angle) - x.values[high] * std::sin(angle);
              expected[high] = x.values[high] * std::cos(angle) + x.values[low] * std::sin(angle);
            }
          }
        }
        expect_close(x.read(), expected, dtype, {4.0}, 2.0, label(dtype, {size, inverse}));
      }
    }
  }
  const Buffer x(ops(), DType::kF32, Values(3));
  EXPECT_THROW(
      ops().rotary({},
                   {.rows = 1, .sequence = 1, .heads = 1, .head_size = 3, .row_stride = 3, .x = x.data()}),
      BugError);
}

// The table of angles is kept between calls: another base, size or length must not meet the old one.
TEST_P(EmbeddingTest, RotaryAfterOtherRotary) {
  const auto turn = [&](Backend& backend, float base, int64_t size, int64_t sequence) {
    const Buffer x(backend, DType::kF32, random_values(10 * size, 58));
    backend.rotary({}, {.rows = 10,
                        .sequence = sequence,
                        .heads = 1,
                        .head_size = size,
                        .row_stride = size,
                        .base = base,
                        .x = x.data()});
    return x.read();
  };
  for (const auto& [base, size, sequence] : {std::tuple{100.0f, int64_t{8}, int64_t{5}},
                                             {10000.0f, 8, 5},
                                             {10000.0f, 4, 5},
                                             {10000.0f, 4, 10},
                                             {10000.0f, 4, 3}}) {
    EXPECT_EQ(turn(ops(), base, size, sequence), turn(*GetParam().make(1), base, size, sequence));
  }
}

}  // namespace
}  // namespace octant::test
