#include <omp.h>

#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(MatmulTest);

struct Case {
  int64_t m, n, k;
  DType type, c_type;
  bool transpose_a = false, transpose_b = false, accumulate = false, bias = false;
  int64_t padding = 0;  // ld - cols
};

void check_case(Backend& ops, const Case& test) {
  const int64_t a_rows = test.transpose_a ? test.k : test.m, a_cols = test.transpose_a ? test.m : test.k;
  const int64_t b_rows = test.transpose_b ? test.n : test.k, b_cols = test.transpose_b ? test.k : test.n;
  const int64_t lda = a_cols + test.padding, ldb = b_cols + test.padding, ldc = test.n + test.padding;
  const Buffer a(ops, test.type, random_values(a_rows * lda, 1)),
      b(ops, test.type, random_values(b_rows * ldb, 2));
  const Buffer c(ops, test.c_type, random_values(test.m * ldc, 3)),
      bias(ops, test.type, random_values(test.n, 4));

  Values expected = c.values, magnitude(expected.size(), 0.0);
  for (int64_t i = 0; i < test.m; ++i) {
    for (int64_t j = 0; j < test.n; ++j) {
      double sum = test.accumulate ? c.values[i * ldc + j] : test.bias ? bias.values[j] : 0.0;
      double size = std::abs(sum);
      for (int64_t k = 0; k < test.k; ++k) {
        const double product = a.values[test.transpose_a ? k * lda + i : i * lda + k] *
                               b.values[test.transpose_b ? j * ldb + k : k * ldb + j];
        sum += product;
        size += std::abs(product);
      }
      expected[i * ldc + j] = sum;
      magnitude[i * ldc + j] = size;
    }
  }
  MatmulArgs args{.a = {a.data(), test.type, a_rows, a_cols, lda},
                  .b = {b.data(), test.type, b_rows, b_cols, ldb},
                  .c = {c.data(), test.c_type, test.m, test.n, ldc},
                  .transpose_a = test.transpose_a,
                  .transpose_b = test.transpose_b,
                  .accumulate = test.accumulate,
                  .bias = test.bias ? bias.data() : nullptr};
  // Twice over, so that a kept primitive is used as well; the second result must be the first one's.
  ops.matmul({}, args);
  const Values first = c.read();
  const double growth = 4.0 + std::sqrt(static_cast<double>(test.k));
  expect_close(first, expected, test.c_type, magnitude, growth,
               label(test.type, {test.m, test.n, test.k, test.transpose_a, test.transpose_b, test.accumulate,
                                 test.bias, test.padding}) +
                   " to " + std::string(name_of(test.c_type)));
  // Nothing between cols and ld is touched.
  for (int64_t i = 0; i < test.m; ++i) {
    for (int64_t j = test.n; j < ldc; ++j) ASSERT_EQ(first[i * ldc + j], c.values[i * ldc + j]);
  }
  if (!test.accumulate) {
    ops.matmul({}, args);
    EXPECT_EQ(c.read(), first);
  }
}

TEST_P(MatmulTest, EveryLayoutOfOddShapes) {
  const std::vector<std::array<int64_t, 3>> shapes = {{1, 1, 1},   {3, 17, 1},   {17, 3, 257}, {1, 257, 17},
                                                      {257, 1, 3}, {33, 65, 17}, {7, 40, 64}};
  for (DType type : kComputeTypes) {
    for (DType c_type : {type, DType::kF32}) {
      for (const auto& [m, n, k] : shapes) {
        for (int bits = 0; bits < 16; ++bits) {
          for (int64_t padding : {0, 5}) {
            check_case(ops(), {.m = m,
                               .n = n,
                               .k = k,
                               .type = type,
                               .c_type = c_type,
                               .transpose_a = (bits & 1) != 0,
                               .transpose_b = (bits & 2) != 0,
                               .accumulate = (bits & 12) == 4,
                               .bias = (bits & 12) == 8,
                               .padding = padding});
          }
        }
      }
      if (type == DType::kF32) break;
    }
  }
}

// An operand so large that the product is cut into two halves of its columns.
TEST_P(MatmulTest, WideOperand) {
  for (DType type : kComputeTypes) {
    for (int64_t m : {1, 3}) {
      for (int bits = 0; bits < 4; ++bits) {
        check_case(ops(), {.m = m,
                           .n = 641,
                           .k = 1250,
                           .type = type,
                           .c_type = type,
                           .transpose_a = (bits & 1) != 0,
                           .accumulate = bits == 2,
                           .bias = bits != 2});
      }
    }
  }
}

// Products of which each thread of a team takes a block, of rows or of columns, and some that are just too
// small for it.
TEST_P(MatmulTest, BlocksOfATeam) {
  for (const int threads : {2, 3}) {
    const std::unique_ptr<Backend> team = GetParam().make(threads);
    const int64_t long_side = 256 * threads + 5;
    for (const auto& [m, n, k] :
         std::vector<std::array<int64_t, 3>>{{long_side, 70, 17},
                                             {33, long_side, 17},
                                             {long_side, long_side, 3},
                                             {256 * threads - 1, 256 * threads - 1, 3},
                                             {5, 8197, 3}}) {
      for (DType type : {DType::kBF16, DType::kF32}) {
        for (int bits = 0; bits < 16; ++bits) {
          check_case(*team, {.m = m,
                             .n = n,
                             .k = k,
                             .type = type,
                             .c_type = bits % 3 == 0 ? type : DType::kF32,
                             .transpose_a = (bits & 1) != 0,
                             .transpose_b = (bits & 2) != 0,
                             .accumulate = (bits & 12) == 4,
                             .bias = (bits & 12) == 8,
                             .padding = bits == 15 ? 0 : bits % 5});
        }
      }
    }
  }
}

// A team that the OpenMP library shrinks would leave parts of a product undone.
TEST_P(MatmulTest, NothingShrinksItsTeam) {
  omp_set_dynamic(1);
  check_case(ops(), {.m = 257, .n = 130, .k = 64, .type = DType::kF32, .c_type = DType::kF32});
  EXPECT_EQ(omp_get_dynamic(), 0);
}

TEST_P(MatmulTest, EmptySizes) {
  for (DType type : kComputeTypes) {
    check_case(ops(), {.m = 3, .n = 5, .k = 0, .type = type, .c_type = type});
    check_case(ops(), {.m = 3, .n = 5, .k = 0, .type = type, .c_type = DType::kF32, .bias = true});
    check_case(ops(), {.m = 3, .n = 5, .k = 0, .type = type, .c_type = type, .accumulate = true});
    check_case(ops(), {.m = 0, .n = 5, .k = 4, .type = type, .c_type = type});
    check_case(ops(), {.m = 3, .n = 0, .k = 4, .type = type, .c_type = type});
  }
}

TEST_P(MatmulTest, NanReachesItsRowOnly) {
  for (DType type : kComputeTypes) {
    Values source(6 * 8, 1.0);
    source[2 * 8 + 3] = std::nan("");
    const Buffer a(ops(), type, source), b(ops(), type, Values(8 * 5, 1.0)),
        c(ops(), type, Values(6 * 5, 0.0));
    ops().matmul(
        {}, {.a = {a.data(), type, 6, 8, 8}, .b = {b.data(), type, 8, 5, 5}, .c = {c.data(), type, 6, 5, 5}});
    const Values result = c.read();
    for (int64_t i = 0; i < 30; ++i)
      EXPECT_EQ(std::isnan(result[i]), i / 5 == 2) << name_of(type) << " " << i;
  }
}

TEST_P(MatmulTest, WrongSizesAreABug) {
  const Buffer a(ops(), DType::kF32, Values(6)), b(ops(), DType::kF32, Values(6)),
      c(ops(), DType::kF32, Values(4));
  MatmulArgs args{.a = {a.data(), DType::kF32, 2, 3, 3},
                  .b = {b.data(), DType::kF32, 2, 3, 3},
                  .c = {c.data(), DType::kF32, 2, 2, 2}};
  EXPECT_THROW(ops().matmul({}, args), BugError);
  args.transpose_b = true;
  EXPECT_NO_THROW(ops().matmul({}, args));
  args.a.dtype = DType::kBF16;
  EXPECT_THROW(ops().matmul({}, args), BugError);
}

}  // namespace
}  // namespace octant::test
