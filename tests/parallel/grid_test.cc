#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/error.h"
#include "parallel/process_grid.h"

namespace octant {
namespace {

using Ranks = std::vector<int>;

TEST(ProcessGrid, SixteenRanksAsMegatronOrdersThem) {
  const ProcessGrid grid({.data = 2, .tensor = 2, .pipeline = 4});
  EXPECT_EQ(grid.world_size(), 16);
  EXPECT_EQ(grid.members(Axis::kTensor, 0), (Ranks{0, 1}));
  EXPECT_EQ(grid.members(Axis::kTensor, 3), (Ranks{2, 3}));
  EXPECT_EQ(grid.members(Axis::kData, 0), (Ranks{0, 2}));
  EXPECT_EQ(grid.members(Axis::kData, 3), (Ranks{1, 3}));
  EXPECT_EQ(grid.members(Axis::kData, 4), (Ranks{4, 6}));
  EXPECT_EQ(grid.members(Axis::kData, 7), (Ranks{5, 7}));
  EXPECT_EQ(grid.members(Axis::kPipeline, 0), (Ranks{0, 4, 8, 12}));
  EXPECT_EQ(grid.members(Axis::kPipeline, 13), (Ranks{1, 5, 9, 13}));
  EXPECT_EQ(grid.pipeline_ends(9), (Ranks{1, 13}));
  EXPECT_EQ(grid.pipeline_ends(2), (Ranks{2, 14}));
}

TEST(ProcessGrid, HeaderExample) {
  const ProcessGrid grid({.data = 2, .tensor = 2, .pipeline = 2});
  EXPECT_EQ(grid.coordinates(5), (Coordinates{.data = 0, .tensor = 1, .pipeline = 1}));
  EXPECT_EQ(grid.members(Axis::kTensor, 5), (Ranks{4, 5}));
}

TEST(ProcessGrid, OneStageHasOneEnd) {
  EXPECT_EQ(ProcessGrid({.data = 3}).pipeline_ends(2), (Ranks{2}));
  EXPECT_EQ(ProcessGrid({.pipeline = 2}).pipeline_ends(1), (Ranks{0, 1}));
}

TEST(ProcessGrid, RandomSizesCutTheWorldIntoGroups) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> size(1, 6);
  for (int trial = 0; trial < 60; ++trial) {
    const ProcessGrid grid({.data = size(random), .tensor = size(random), .pipeline = size(random)});
    for (int rank = 0; rank < grid.world_size(); ++rank) {
      EXPECT_EQ(grid.rank(grid.coordinates(rank)), rank);
      for (const Axis axis : {Axis::kData, Axis::kTensor, Axis::kPipeline}) {
        const Ranks members = grid.members(axis, rank);
        ASSERT_EQ(static_cast<int>(members.size()), grid.size(axis));
        EXPECT_TRUE(std::is_sorted(members.begin(), members.end()));
        EXPECT_EQ(std::count(members.begin(), members.end(), rank), 1);
        for (const int member : members) EXPECT_EQ(grid.members(axis, member), members);
      }
    }
    // Two ranks that share two axes are one rank.
    for (int rank = 0; rank < grid.world_size(); ++rank)
      for (int other = 0; other < grid.world_size(); ++other) {
        const bool same_data = grid.members(Axis::kData, rank) == grid.members(Axis::kData, other);
        const bool same_tensor = grid.members(Axis::kTensor, rank) == grid.members(Axis::kTensor, other);
        EXPECT_TRUE(!(same_data && same_tensor) || rank == other);
      }
  }
}

TEST(ProcessGrid, ImpossibleSizesAreTheUsersMistake) {
  EXPECT_THROW(ProcessGrid({.data = 0}), UserError);
  EXPECT_THROW(ProcessGrid({.tensor = -2}), UserError);
  EXPECT_THROW(ProcessGrid({.data = 1 << 16, .tensor = 1 << 16}), UserError);
  EXPECT_THROW(ProcessGrid({.data = 1 << 30, .tensor = 1 << 30, .pipeline = 1 << 30}), UserError);
  EXPECT_THROW(ProcessGrid({.data = 2}).coordinates(2), BugError);
  EXPECT_THROW(ProcessGrid({.data = 2}).rank({.data = 2}), BugError);
}

TEST(ProcessGrid, PrintsARowForEachRank) {
  const std::string text = ProcessGrid({.data = 2, .tensor = 3}).str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);
  EXPECT_NE(text.find("6 ranks: data 2 x tensor 3 x pipeline 1"), std::string::npos);
}

}  // namespace
}  // namespace octant
