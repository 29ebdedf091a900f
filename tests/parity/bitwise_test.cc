// What is promised bit for bit: losses, norms, weights and moments (docs/parity.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/parity/harness.h"

namespace octant::parity {
namespace {

class Bitwise : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  Case model() const {
    const auto& [family, compute] = GetParam();
    // A tiny F16 model needs a scale that its gradients overflow at first: skipped steps are compared too.
    const std::string scale =
        compute == "F16" ? " loss_scale { initial: 1073741824 window: 2 hysteresis: 1 }" : "";
    return {.family = family, .precision = fmt::format("compute: {}{}", compute, scale), .dropout = 0.1};
  }
  void compare(const Layout& first, const std::vector<Layout>& others) {
    const Outcome expected = train(model(), first);
    ASSERT_EQ(expected.losses.size(), 5u);
    for (const Layout& layout : others) {
      ASSERT_EQ(layout.ranks(), first.ranks());
      expect_same_bits(expected, train(model(), layout), layout.str());
    }
  }
};

TEST_P(Bitwise, StagesAtReduceEveryStep) {
  for (const Layout& base : {Layout{.data = 4, .accumulation = 2, .reduce_every = "STEP"},
                             Layout{.data = 2,
                             .tensor = 2,
                             .pipeline = 2,
                             .accumulation = 4,
                             .sequence_parallel = true,
                             .reduce_every = "STEP"},
                             Layout{.data = 8, .accumulation = 1, .reduce_every = "STEP"}}) {
    std::vector<Layout> others;
    for (int stage : {1, 2, 3}) {
      others.push_back(base);
      others.back().stage = stage;
    }
    compare(base, others);
  }
}

TEST_P(Bitwise, StagesTwoAndThreeAtReduceEveryMicroBatch) {
  Layout base{
      .data = 2, .tensor = 2, .pipeline = 2, .stage = 2, .accumulation = 4, .reduce_every = "MICRO_BATCH"};
  Layout other = base;
  other.stage = 3;
  compare(base, {other});
}

TEST_P(Bitwise, OverlapBucketsAndReshardPolicy) {
  for (int stage : {0, 1, 2, 3}) {
    const Layout base{.data = 4, .pipeline = 2, .stage = stage, .accumulation = 2};
    std::vector<Layout> others;
    const auto variant = [&](auto change) {
      others.push_back(base);
      change(others.back());
    };
    variant([](Layout& l) { l.overlap = false; });
    variant([](Layout& l) { l.progress_thread = true; });
    variant([](Layout& l) { l.progress_thread = true, l.reduce_bucket = 777; });
    variant([](Layout& l) { l.reduce_bucket = l.allgather_bucket = 1000; });
    variant([](Layout& l) { l.reduce_bucket = l.allgather_bucket = 20000; });
    variant([](Layout& l) { l.reduce_bucket = 777, l.overlap = false; });
    if (stage == 3) {
      variant([](Layout& l) { l.reshard = "ALWAYS"; });
      variant([](Layout& l) { l.reshard = "NEVER"; });
      variant([](Layout& l) { l.reshard = "ALWAYS", l.allgather_bucket = 100, l.overlap = false; });
    }
    compare(base, others);
  }
}

TEST_P(Bitwise, SchedulesAndRecomputation) {
  const Layout base{.data = 2, .tensor = 1, .pipeline = 4, .stage = 2, .accumulation = 8};
  Layout gpipe = base, recompute = base;
  gpipe.schedule = "GPIPE";
  recompute.recompute = true;
  Layout progress = gpipe;
  progress.progress_thread = true;
  compare(base, {gpipe, recompute, progress});
  const Layout cut{.data = 1, .tensor = 4, .pipeline = 2, .accumulation = 4, .sequence_parallel = true};
  Layout again = cut;
  again.recompute = again.progress_thread = true;
  compare(cut, {again, cut});
}

INSTANTIATE_TEST_SUITE_P(Parity, Bitwise,
                         testing::Combine(testing::Values("GPT2", "LLAMA"),
                                          testing::Values("F32", "BF16", "F16")),
                         [](const testing::TestParamInfo<Bitwise::ParamType>& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param);
                         });

}  // namespace
}  // namespace octant::parity
