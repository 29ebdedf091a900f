// C28: the learning rate at its edges, as a function and as a run shows it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.h"
#include "tests/train/run.h"
#include "train/learning_rate.h"

namespace octant::runs {
namespace {

TEST(C28_LearningRate, IsFiniteAndWithinItsPeakEverywhere) {
  for (Decay decay : {Decay::kConstant, Decay::kLinear, Decay::kCosine})
    for (int64_t total : {0, 1, 2, 10})
      for (int64_t warmup : {int64_t{0}, int64_t{1}, total - 1, total})
        for (double minimum : {0.0, 1e-4, 1e-3}) {
          if (warmup < 0 || warmup > total) continue;
          const LearningRateSettings settings{
              .peak = 1e-3, .minimum = minimum, .warmup_steps = warmup, .decay_steps = total, .decay = decay};
          for (int64_t step = 0; step < total + 5; ++step) {
            const double rate = learning_rate(settings, step);
            EXPECT_TRUE(std::isfinite(rate));
            EXPECT_GE(rate, 0);
            EXPECT_LE(rate, 1e-3) << "warmup " << warmup << " of " << total << ", step " << step;
          }
        }
}

TEST(C28_LearningRate, HasTheDocumentedValues) {
  LearningRateSettings settings{
      .peak = 1.0, .minimum = 0.2, .warmup_steps = 4, .decay_steps = 14, .decay = Decay::kCosine};
  EXPECT_EQ(learning_rate(settings, 0), 0.25);
  EXPECT_EQ(learning_rate(settings, 3), 1.0);
  EXPECT_EQ(learning_rate(settings, 4), 1.0);
  EXPECT_NEAR(learning_rate(settings, 9), 0.6, 1e-15);
  EXPECT_NEAR(learning_rate(settings, 6), 0.2 + 0.8 * 0.5 * (1 + std::cos(std::numbers::pi * 0.2)), 1e-15);
  EXPECT_EQ(learning_rate(settings, 14), 0.2);
  EXPECT_EQ(learning_rate(settings, 1'000'000'000), 0.2);
  settings.decay = Decay::kLinear;
  EXPECT_NEAR(learning_rate(settings, 9), 0.6, 1e-15);
  EXPECT_NEAR(learning_rate(settings, 5), 0.92, 1e-15);
  settings.decay = Decay::kConstant;
  EXPECT_EQ(learning_rate(settings, 100), 1.0);
  settings.warmup_steps = 0;  // the first step is at the full rate
  for (Decay decay : {Decay::kConstant, Decay::kLinear, Decay::kCosine}) {
    settings.decay = decay;
    EXPECT_EQ(learning_rate(settings, 0), 1.0);
  }
}

TEST(C28_LearningRate, FallsSteadilyAfterTheWarmUp) {
  for (Decay decay : {Decay::kLinear, Decay::kCosine}) {
    const LearningRateSettings settings{
        .peak = 3e-4, .minimum = 3e-5, .warmup_steps = 7, .decay_steps = 103, .decay = decay};
    for (int64_t step = 1; step < 110; ++step) {
      const double before = learning_rate(settings, step - 1), now = learning_rate(settings, step);
      if (step < 7) {
        EXPECT_GT(now, before);
      } else if (step > 7) {
        EXPECT_LE(now, before);
        EXPECT_LT(before - now, 2 * 3e-4 / 96);
      }
    }
  }
}

TEST(C28_LearningRate, OfARunWithAWarmUpAtTheEdges) {
  const Folder folder;
  for (const char* decay : {"CONSTANT", "LINEAR", "COSINE"})
    for (int warmup : {0, 1, 9, 10}) {
      const Outcome run =
          good_run(folder, "run",
                   {"training.steps=10", fmt::format("learning_rate_schedule.warmup_steps={}", warmup),
                    fmt::format("learning_rate_schedule.decay={}", decay), "model.num_layers=1"});
      const std::vector<double> rates = run.column("learning_rate");
      ASSERT_EQ(rates.size(), 10u);
      for (size_t step = 0; step < 10; ++step) {
        EXPECT_TRUE(std::isfinite(rates[step]) && rates[step] >= 0 && rates[step] <= 2e-3);
        EXPECT_TRUE(std::isfinite(run.losses()[step]));
      }
      EXPECT_EQ(rates[0], warmup == 0 ? 2e-3 : 2e-3 / warmup);
    }
  for (int steps : {0, 1}) {
    const Outcome run = good_run(
        folder, "run", {fmt::format("training.steps={}", steps), "learning_rate_schedule.decay=COSINE"});
    EXPECT_EQ(run.steps.size(), static_cast<size_t>(steps));
    EXPECT_EQ(run.result.steps, steps);
  }
}

TEST(C28_LearningRate, NonsenseIsRefusedWithBothValues) {
  const Folder folder;
  const auto message = [&](const Set& set) -> std::string {
    try {
      job(folder, "bad", {"training.steps=10", "learning_rate_schedule.decay=COSINE"}, set);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  const auto expect_says = [&](const Set& set, const std::vector<std::string>& parts) {
    const std::string text = message(set);
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  };
  expect_says({"learning_rate_schedule.warmup_steps=11"}, {"warmup_steps", "11", "training.steps=10"});
  expect_says({"learning_rate_schedule.min_learning_rate=0.5"},
              {"min_learning_rate", "0.5", "learning_rate=0.002"});
  expect_says({"learning_rate_schedule.decay_steps=0"}, {"decay_steps", "0", "training.steps=10"});
  expect_says({"learning_rate_schedule.decay_steps=3", "learning_rate_schedule.warmup_steps=5"},
              {"decay_steps", "3", "warmup_steps=5"});
  expect_says({"learning_rate_schedule.warmup_steps=-1"}, {"warmup_steps", "-1"});
}

}  // namespace
}  // namespace octant::runs
