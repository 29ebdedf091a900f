#include "pipeline/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace octant {
namespace {

std::vector<double> loads(const std::vector<int64_t>& layers, double layer, double embedding, double head) {
  std::vector<double> load;
  for (int64_t count : layers) load.push_back(static_cast<double>(count) * layer);
  load.front() += embedding;
  load.back() += head;
  std::sort(load.rbegin(), load.rend());
  return load;
}

// The best of all cuts: sorted loads from the heaviest down as light as can be, then more layers in earlier
// stages.
std::vector<int64_t> brute_force(int64_t num_layers, int stages, double layer, double embedding,
                                 double head) {
  std::vector<int64_t> best, cut;
  std::function<void(int64_t, int)> extend = [&](int64_t left, int stages_left) {
    if (stages_left == 1) {
      cut.push_back(left);
      if (best.empty()) best = cut;
      const auto a = loads(cut, layer, embedding, head), b = loads(best, layer, embedding, head);
      if (a < b || (a == b && cut > best)) best = cut;
      cut.pop_back();
      return;
    }
    for (int64_t count = 1; count <= left - stages_left + 1; ++count) {
      cut.push_back(count);
      extend(left - count, stages_left - 1);
      cut.pop_back();
    }
  };
  extend(num_layers, stages);
  return best;
}

TEST(Partition, EqualsTheBestOfAllCuts) {
  for (int64_t num_layers = 1; num_layers <= 11; ++num_layers)
    for (int stages = 1; stages <= std::min<int64_t>(num_layers, 5); ++stages)
      for (double embedding : {0.0, 1.0, 2.5, 9.0})
        for (double head : {0.0, 0.5, 2.0, 3.0, 40.0})
          EXPECT_EQ(balance_layers(num_layers, stages, 1, embedding, head),
                    brute_force(num_layers, stages, 1, embedding, head))
              << num_layers << " layers, " << stages << " stages, embedding " << embedding << ", head "
              << head;
}

TEST(Partition, UnevenLayersAreAllKept) {
  EXPECT_EQ(balance_layers(30, 4, 1, 0, 0), (std::vector<int64_t>{8, 8, 7, 7}));
  EXPECT_EQ(balance_layers(5, 2, 1, 0, 0), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(balance_layers(7, 7, 1, 100, 100), std::vector<int64_t>(7, 1));
  EXPECT_EQ(balance_layers(8, 2, 1, 0, 2), (std::vector<int64_t>{5, 3}));
}

TEST(Partition, SumsAndOneEach) {
  for (int64_t num_layers = 1; num_layers <= 130; num_layers += 3)
    for (int stages = 1; stages <= std::min<int64_t>(num_layers, 16); ++stages) {
      const auto layers = balance_layers(num_layers, stages, 3e9, 1.1e10, 7e9);
      EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), int64_t{0}), num_layers);
      EXPECT_GE(*std::min_element(layers.begin(), layers.end()), 1);
      EXPECT_EQ(layers.size(), static_cast<size_t>(stages));
    }
}

TEST(Partition, Errors) {
  EXPECT_THROW(balance_layers(3, 4, 1, 0, 0), UserError);
  EXPECT_THROW(balance_layers(3, 0, 1, 0, 0), UserError);
  EXPECT_THROW(balance_layers(0, 1, 1, 0, 0), UserError);
  EXPECT_THROW(balance_layers(3, 2, 0, 0, 0), BugError);
  EXPECT_THROW(balance_layers(3, 2, std::numeric_limits<double>::quiet_NaN(), 0, 0), BugError);
  try {
    balance_layers(3, 4, 1, 0, 0);
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("stages=4 with num_layers=3"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("use 1 to 3"), std::string::npos);
  }
}

}  // namespace
}  // namespace octant
