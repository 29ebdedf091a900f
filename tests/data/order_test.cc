#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/math/philox.h"
#include "data/blend.h"
#include "data/sample_order.h"
#include "data/training_order.h"
#include "tests/data/scratch.h"

namespace octant::testing {
namespace {

TEST(Permutation, IsABijectionForEverySize) {
  for (int64_t n = 1; n <= 300; ++n) {
    const Permutation permutation(order_key(7, 11, n), n);
    std::vector<bool> seen(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      const int64_t value = permutation(i);
      ASSERT_TRUE(value >= 0 && value < n) << n;
      ASSERT_FALSE(seen[static_cast<size_t>(value)]) << n;
      seen[static_cast<size_t>(value)] = true;
    }
  }
}

TEST(Permutation, IsABijectionForOddLargeSizes) {
  for (int64_t n : {1023, 1024, 1025, 65537, 99991}) {
    const Permutation permutation(42, n);
    std::vector<int64_t> values(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = permutation(i);
    std::sort(values.begin(), values.end());
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i) << n;
  }
}

TEST(Permutation, ReachesBeyond32Bits) {
  const int64_t n = (int64_t{1} << 40) + 3;
  const Permutation permutation(42, n);
  std::set<int64_t> seen;
  int64_t upper_half = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t value = permutation(n - 1 - i);
    ASSERT_TRUE(value >= 0 && value < n);
    seen.insert(value);
    upper_half += value > n / 2;
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_NEAR(static_cast<double>(upper_half), 500.0, 80.0);  // five standard deviations
}

// Every position is equally likely to hold every value: chi-squared over keys.
TEST(Permutation, MixesEvenSmallSizes) {
  constexpr int kN = 10, kKeys = 5000;
  std::vector<int> counts(kN * kN);
  for (int key = 0; key < kKeys; ++key) {
    const Permutation permutation(order_key(static_cast<uint64_t>(key), 3, 0), kN);
    for (int i = 0; i < kN; ++i) ++counts[static_cast<size_t>(i * kN + permutation(i))];
  }
  double chi = 0;
  for (int count : counts) chi += std::pow(count - kKeys / 10.0, 2) / (kKeys / 10.0);
  EXPECT_LT(chi, 150.0);  // 81 degrees of freedom: mean 81, standard deviation 13
}

TEST(Permutation, DependsOnEveryPartOfTheKey) {
  const uint64_t key = order_key(1, 2, 3);
  EXPECT_EQ(key, order_key(1, 2, 3, 0));
  EXPECT_NE(key, order_key(2, 2, 3));
  EXPECT_NE(key, order_key(1, 3, 3));
  EXPECT_NE(key, order_key(1, 2, 4));
  EXPECT_NE(key, order_key(1, 2, 3, 1));
}

// Fixed for ever: a checkpoint of today must go on in the same order with the binary of tomorrow.
TEST(Permutation, OrderIsFrozen) {
  const Permutation permutation(order_key(1234, 5678, 0), 10);
  std::string order;
  for (int64_t i = 0; i < 10; ++i) order += std::to_string(permutation(i)) + " ";
  EXPECT_EQ(order, "1 7 3 5 9 2 8 0 4 6 ");
}

TEST(Permutation, RefusesSizesItCannotServe) {
  EXPECT_THROW(Permutation(1, 0), BugError);
  EXPECT_THROW(Permutation(1, int64_t{1} << 62), BugError);
}

std::string sequence(const std::vector<double>& weights, int64_t begin, size_t count) {
  const Blend blend(weights);
  std::vector<Blend::Draw> draws(count);
  blend.draws(begin, draws);
  std::string text;
  for (const auto& draw : draws) text += std::to_string(draw.source);
  return text;
}

TEST(Blend, FollowsMegatronsGoldens) {
  EXPECT_EQ(sequence({.5, .5}, 0, 10), "0101010101");
  EXPECT_EQ(sequence({.7, .3}, 0, 10), "0100100100");
  EXPECT_EQ(sequence({.2, .3, .5}, 0, 10), "2102120212");
  EXPECT_EQ(sequence({.001, .999}, 0, 10), "1011111111");
}

TEST(Blend, AnyPositionIsReached) {
  const std::vector<double> weights = {3, 1.7, 0, 2.2};
  const Blend straight(weights);
  std::vector<Blend::Draw> all(40000);
  straight.draws(0, all);
  std::vector<int64_t> counts(weights.size());
  for (const auto& draw : all) ASSERT_EQ(draw.index, counts[static_cast<size_t>(draw.source)]++);
  for (int64_t begin : {0, 1, 8191, 8192, 8193, 30001, 16384, 5}) {
    const Blend fresh(weights);
    for (const Blend* blend : {&fresh, &straight}) {
      std::vector<Blend::Draw> part(100);
      blend->draws(begin, part);
      for (size_t i = 0; i < part.size(); ++i) {
        ASSERT_EQ(part[i].source, all[static_cast<size_t>(begin) + i].source);
        ASSERT_EQ(part[i].index, all[static_cast<size_t>(begin) + i].index);
      }
    }
  }
}

TEST(C40_Blending, CountsStayWithinOneOfTheirShare) {
  const std::vector<std::vector<double>> blends = {
      {0.999, 0.001}, {0.001, 0.999},  {1, 0},       {0, 1},       {0.5, 0.5},          {10, 20},
      {1e-9, 1},      {0.2, 0.3, 0.5}, {1, 1, 1, 1}, {5, 1, 1, 0}, {0.4, 0.3, 0.2, 0.1}};
  for (const auto& weights : blends) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const Blend blend(weights);
    std::vector<Blend::Draw> draws(2000);
    blend.draws(0, draws);
    std::vector<double> counts(weights.size());
    for (size_t n = 0; n < draws.size(); ++n) {
      counts[static_cast<size_t>(draws[n].source)] += 1;
      for (size_t i = 0; i < weights.size(); ++i) {
        ASSERT_LE(std::abs(counts[i] - static_cast<double>(n + 1) * weights[i] / sum), 1.0 + 1e-9)
            << "source " << i << " of weight " << weights[i] << " after " << n + 1;
      }
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0) {
        EXPECT_EQ(counts[i], 0);
      }
    }
  }
}

TEST(C40_Blending, ManySourcesNeverRunAheadNorTwoBehind) {
  for (uint64_t trial = 0; trial < 300; ++trial) {
    std::vector<double> weights;
    for (uint64_t i = 0; i < 3 + trial % 6; ++i)
      weights.push_back(std::pow(uniform_from_u32(random_u32(trial, i)) + 1e-3, 3.0));
    const Blend blend(weights);
    std::vector<Blend::Draw> draws(400);
    blend.draws(0, draws);
    std::vector<double> counts(weights.size());
    for (size_t n = 0; n < draws.size(); ++n) {
      counts[static_cast<size_t>(draws[n].source)] += 1;
      for (size_t i = 0; i < weights.size(); ++i) {
        const double ahead = counts[i] - static_cast<double>(n + 1) * blend.weights()[i];
        ASSERT_LE(ahead, 1.0 + 1e-9) << trial;
        ASSERT_GE(ahead, -2.0) << trial;
      }
    }
  }
}

TEST(C40_Blending, BadWeightsAreRefused) {
  const double nan = std::nan(""), infinity = HUGE_VAL;
  for (const std::vector<double>& weights :
       std::vector<std::vector<double>>{{-1, 2}, {nan, 1}, {0, 0}, {infinity, 1}, {1e308, 1e308}, {}})
    EXPECT_THROW(Blend{weights}, UserError);
  EXPECT_TRUE(holds(message_of<UserError>([] {
                      Blend(std::vector<double>{1, -0.5});
                    }),
                    "data.train[1].weight = -0.5"));
}

TEST(C40_Blending, WeightsAreNormalised) {
  EXPECT_EQ(Blend(std::vector<double>{10, 30}).weights(), (std::vector<double>{0.25, 0.75}));
}

TEST(C40_Blending, ASmallSourceWrapsWithANewShuffleEachEpoch) {
  const TrainingOrder order(1, {{0.5, 200, 111}, {0.5, 20, 222}});
  std::vector<Sample> samples(400);
  order.samples(0, samples);
  std::vector<std::vector<int64_t>> epochs(1);
  for (const Sample& sample : samples) {
    if (sample.source != 1) continue;
    if (epochs.back().size() == 20) epochs.emplace_back();
    epochs.back().push_back(sample.window);
  }
  ASSERT_EQ(epochs.size(), 10u);
  std::set<std::vector<int64_t>> orders(epochs.begin(), epochs.end());
  EXPECT_EQ(orders.size(), 10u);
  for (const auto& epoch : epochs) EXPECT_EQ(std::set<int64_t>(epoch.begin(), epoch.end()).size(), 20u);
}

TEST(C40_Blending, TheSameDataTwiceIsNotReadInStep) {
  const TrainingOrder order(1, {{0.5, 100, 111}, {0.5, 100, 111}});
  std::vector<Sample> samples(200);
  order.samples(0, samples);
  int64_t equal = 0;
  for (size_t i = 0; i < samples.size(); i += 2) equal += samples[i].window == samples[i + 1].window;
  EXPECT_LT(equal, 10);
}

TEST(TrainingOrder, DoesNotDependOnHowItIsAsked) {
  const TrainingOrder order(9, {{0.3, 37, 1}, {0.7, 1000, 2}});
  std::vector<Sample> all(1500), parts(1500);
  order.samples(0, all);
  for (size_t begin = 0, size = 1; begin < parts.size(); begin += size, size = size % 7 + 1) {
    size = std::min(size, parts.size() - begin);
    order.samples(static_cast<int64_t>(begin), std::span(parts).subspan(begin, size));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].source, parts[i].source);
    ASSERT_EQ(all[i].window, parts[i].window);
  }
}

}  // namespace
}  // namespace octant::testing
