#include "core/cpu/pair_product.h"

#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(PairProductTest);

// Every width of tile, rows past a multiple of four, odd strides, both ways of writing.
TEST_P(PairProductTest, EveryShapeAgainstTheNaiveSum) {
  for (const int64_t rows : {1, 3, 4, 9}) {
    for (const int64_t columns : {16, 32, 48, 64, 112}) {
      for (const int64_t pairs : {1, 5, 32}) {
        const int64_t lda = pairs + 1, ldb = columns + 3, ldc = columns + 5;
        const Values left = random_values(rows * 2 * pairs, 31),
                     right = random_values(2 * pairs * columns, 32);
        const auto first_operand = [&](int64_t m, int64_t k) {
          return narrow<BFloat16>(static_cast<float>(left[static_cast<size_t>(m * 2 * pairs + k)]));
        };
        std::vector<uint32_t> a(static_cast<size_t>(rows * lda), 0x7FC07FC0u);
        for (int64_t m = 0; m < rows; ++m)
          for (int64_t p = 0; p < pairs; ++p)
            a[static_cast<size_t>(m * lda + p)] =
                cpu::pair_of(first_operand(m, 2 * p), first_operand(m, 2 * p + 1));
        std::vector<uint32_t> b(static_cast<size_t>(pairs * ldb), 0x7FC07FC0u);
        const auto second_operand = [&](int64_t k, int64_t n) {
          return narrow<BFloat16>(static_cast<float>(right[static_cast<size_t>(k * columns + n)]));
        };
        for (int64_t p = 0; p < pairs; ++p)
          for (int64_t n = 0; n < columns; ++n)
            b[static_cast<size_t>(p * ldb + n)] =
                cpu::pair_of(second_operand(2 * p, n), second_operand(2 * p + 1, n));
        for (const bool accumulate : {false, true}) {
          std::vector<float> c(static_cast<size_t>(rows * ldc), 3.0f);
          cpu::pair_product({.rows = rows,
                             .columns = columns,
                             .pairs = pairs,
                             .a = a.data(),
                             .lda = lda,
                             .b = b.data(),
                             .ldb = ldb,
                             .c = c.data(),
                             .ldc = ldc,
                             .accumulate = accumulate});
          for (int64_t m = 0; m < rows; ++m) {
            for (int64_t n = 0; n < ldc; ++n) {
              double want = n >= columns || accumulate ? 3.0 : 0.0;
              for (int64_t k = 0; k < 2 * pairs && n < columns; ++k)
                want += static_cast<double>(widen(first_operand(m, k))) * widen(second_operand(k, n));
              ASSERT_NEAR(c[static_cast<size_t>(m * ldc + n)], want, n < columns ? 1e-5 : 0.0)
                  << rows << " x " << columns << " x " << pairs << " at " << m << ", " << n;
            }
          }
        }
      }
    }
  }
}

// The portable path is what the other instruction sets run; the first factory runs the processor's own.
TEST_P(PairProductTest, OnlyTheWidestInstructionSetHasTheInstruction) {
  EXPECT_EQ(cpu::uses_pair_instruction(), GetParam().name == "cpu" && cpu::has_pair_instruction() &&
                                              (hwy::SupportedTargets() & HWY_AVX3) != 0);
}

}  // namespace
}  // namespace octant::test
