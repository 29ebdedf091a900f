// Layouts beyond powers of two, more ranks than elements of a parameter, and the 16-bit types against the
// one-rank run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/parity/harness.h"

namespace octant::parity {
namespace {

TEST(OddLayouts, FiveStagesAndPaddedVocabularies) {
  for (const std::string family : {"GPT2", "LLAMA"}) {
    const Case model{.family = family, .optimizer = "sgd { learning_rate: 0.5 }"};
    const Outcome one = train(model, {});
    for (int stage : {0, 1, 2, 3}) {
      expect_close(one, train(model, {.pipeline = 5, .stage = stage, .accumulation = 4}), 1e-5, "pipeline 5");
      expect_close(one, train(model, {.pipeline = 3, .stage = stage, .accumulation = 2}), 1e-5, "pipeline 3");
      expect_close(one, train(model, {.data = 8, .stage = stage, .accumulation = 2}), 1e-5, "data 8");
      expect_close(one, train(model, {.data = 16, .stage = stage}), 1e-5, "data 16");
      expect_close(one, train(model, {.tensor = 2, .stage = stage, .vocab_padding_multiple = 128}), 1e-5,
                   "padded vocabulary");
    }
  }
}

TEST(OddLayouts, ThreeAndFiveOnEveryAxis) {
  for (const std::string family : {"GPT2", "LLAMA"})
    for (int odd : {3, 5}) {
      const Case model{.family = family,
                       .optimizer = "sgd { learning_rate: 0.5 }",
                       .hidden = 60,
                       .heads = 2 * odd,
                       .kv_heads = odd,
                       .ffn = 90,
                       .global_batch = 15};
      const Outcome one = train(model, {});
      for (int stage : {0, 1, 2, 3}) {
        expect_close(one, train(model, {.data = odd, .stage = stage, .accumulation = 15 / odd}), 1e-5,
                     fmt::format("data {}", odd));
        expect_close(one, train(model, {.tensor = odd, .stage = stage}), 1e-5, fmt::format("tensor {}", odd));
        expect_close(one, train(model, {.data = odd, .pipeline = 2, .stage = stage}), 1e-5,
                     fmt::format("data {} pipeline 2", odd));
      }
      expect_close(one,
                   train(model, {.data = 3, .tensor = odd, .pipeline = 2, .stage = 3, .accumulation = 5}),
                   1e-5, "data 3, pipeline 2");
    }
}

// Dropout masks depend on the global element alone: the same with it on.
TEST(OddLayouts, DropoutDoesNotDependOnTheLayout) {
  const Case model{.optimizer = "sgd { learning_rate: 0.5 }", .dropout = 0.2};
  const Outcome one = train(model, {});
  EXPECT_NE(one.losses, train({.optimizer = model.optimizer}, {}).losses);
  for (const Layout& layout :
       {Layout{.data = 2, .accumulation = 2}, Layout{.tensor = 4},
        Layout{.tensor = 2, .sequence_parallel = true, .recompute = true},
        Layout{
            .data = 2, .tensor = 2, .pipeline = 2, .stage = 3, .accumulation = 4, .sequence_parallel = true}})
    expect_close(one, train(model, layout), 1e-5, layout.str());
}

// 16-bit activations round differently where a sum is cut. Their own round-off: bf16 has 8 bits, f16 11; the
// norm is the most sensitive.
class SixteenBit : public testing::TestWithParam<std::string> {};

TEST_P(SixteenBit, StaysWithinItsRoundOff) {
  const double tolerance = GetParam() == "BF16" ? 1e-2 : 2e-3;
  for (const std::string family : {"GPT2", "LLAMA"}) {
    const Case model{
        .family = family, .optimizer = "sgd { learning_rate: 0.1 }", .precision = "compute: " + GetParam()};
    const Case full{.family = family, .optimizer = model.optimizer};
    const Outcome exact = train(full, {});
    const Outcome one = train(model, {});
    for (size_t step = 0; step < exact.losses.size(); ++step)
      EXPECT_NEAR(one.losses[step], exact.losses[step], tolerance * exact.losses[step]);
    for (const Layout& layout :
         {Layout{.data = 4, .stage = 3, .accumulation = 2}, Layout{.tensor = 4, .sequence_parallel = true},
          Layout{.pipeline = 4, .accumulation = 4},
          Layout{.data = 2, .tensor = 2, .pipeline = 2, .stage = 2, .accumulation = 2}})
      expect_close(one, train(model, layout), tolerance, layout.str());
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, SixteenBit, testing::Values("BF16", "F16"));

}  // namespace
}  // namespace octant::parity
