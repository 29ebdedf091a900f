// Every layout with at most eight ranks gives the one-rank run's losses, norms and weights (docs/parity.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/parity/harness.h"

namespace octant::parity {
namespace {

const char* const kSgd = "sgd { learning_rate: 0.5 }";

struct Grid {
  int data, tensor, pipeline;
};

std::vector<Grid> grids() {
  std::vector<Grid> result;
  for (int data : {1, 2, 4})
    for (int tensor : {1, 2, 4})
      for (int pipeline : {1, 2, 4})
        if (data * tensor * pipeline <= 8) result.push_back({data, tensor, pipeline});
  return result;
}

// One test a grid and family and optimizer: all stages × accumulation × sequence parallelism × recomputation
// within.
class Layouts : public testing::TestWithParam<std::tuple<Grid, std::string, std::string>> {};

TEST_P(Layouts, EqualTheOneRankRun) {
  const auto& [grid, family, optimizer] = GetParam();
  Case model{.family = family};
  if (optimizer == "sgd") model.optimizer = kSgd;
  const Outcome one = train(model, Layout{});
  ASSERT_EQ(one.losses.size(), 5u);
  ASSERT_NE(one.losses.front(), one.losses.back());
  for (int stage : {0, 1, 2, 3})
    for (int accumulation : {1, 4})
      for (bool sequence_parallel : {false, true})
        for (bool recompute : {false, true}) {
          if (sequence_parallel && grid.tensor == 1) continue;
          const Layout layout{.data = grid.data,
                              .tensor = grid.tensor,
                              .pipeline = grid.pipeline,
                              .stage = stage,
                              .accumulation = accumulation,
                              .sequence_parallel = sequence_parallel,
                              .recompute = recompute};
          expect_close(one, train(model, layout), 1e-5, layout.str());
          if (HasFatalFailure()) return;
        }
}

INSTANTIATE_TEST_SUITE_P(Parity, Layouts,
                         testing::Combine(testing::ValuesIn(grids()), testing::Values("GPT2", "LLAMA"),
                                          testing::Values("sgd", "adamw")),
                         [](const testing::TestParamInfo<Layouts::ParamType>& test) {
                           const Grid& grid = std::get<0>(test.param);
                           return fmt::format("d{}t{}p{}_{}_{}", grid.data, grid.tensor, grid.pipeline,
                                              std::get<1>(test.param), std::get<2>(test.param));
                         });

}  // namespace
}  // namespace octant::parity
