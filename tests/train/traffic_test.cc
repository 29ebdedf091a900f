// C59: what a step sends over the data axis, as summary.json tells it: few calls, and as many bytes as the
// ZeRO paper says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/run.h"

namespace octant::runs {
namespace {

struct Traffic {
  double calls = 0, bytes = 0;
};

// Of a step, over the data group, on every rank alike. An empty purpose sums all.
Traffic traffic_of(const Outcome& run, const std::string& purpose) {
  std::vector<Traffic> ranks;
  for (const nlohmann::json& rank : run.summary["ranks"]) {
    Traffic sum;
    for (const nlohmann::json& row : rank["traffic"]) {
      if (row["group"] != "data" || (!purpose.empty() && row["purpose"] != purpose)) continue;
      sum.calls += row["calls_per_step"].get<double>();
      sum.bytes += row["bytes_per_step"].get<double>();
    }
    ranks.push_back(sum);
  }
  for (const Traffic& rank : ranks) {
    EXPECT_EQ(rank.calls, ranks[0].calls) << purpose;
    EXPECT_EQ(rank.bytes, ranks[0].bytes) << purpose;
  }
  return ranks.at(0);
}

constexpr int kData = 4;
constexpr double kSent = (kData - 1.0) / kData;

Outcome run_of(const Folder& folder, int stage, int accumulation, const Set& more = {}) {
  Set set = {"training.steps=4",
             "batch.micro_batch_size=1",
             fmt::format("batch.global_batch_size={}", kData * accumulation),
             "zero_optimization.reshard_after_forward=ALWAYS",
             fmt::format("zero_optimization.stage={}", stage),
             fmt::format("parallel.data={}", kData)};
  set.insert(set.end(), kLlama.begin(), kLlama.end());
  return good_run(folder, "run", set, more);
}

double bytes_of_parameters(const Outcome& run) {
  return 4.0 * run.summary["parameters"].get<double>();
}

TEST(C59_Collectives, AreFewAndDoNotDependOnTheNumberOfTensors) {
  const Folder folder;
  for (int stage : {0, 1, 2})
    for (int layers : {1, 24}) {
      const Outcome run = run_of(folder, stage, 1, {fmt::format("model.num_layers={}", layers)});
      // The model fits into one bucket of 25 MiB.
      EXPECT_EQ(traffic_of(run, "gradients").calls, 1) << "stage " << stage << ", layers " << layers;
      EXPECT_EQ(traffic_of(run, "parameters").calls, stage == 0 ? 0 : 1)
          << "stage " << stage << ", layers " << layers;
      EXPECT_LE(traffic_of(run, "").calls, 8);
    }
}

TEST(C59_Collectives, AreTheBytesDividedByTheBucket) {
  const Folder folder;
  for (int stage : {0, 1, 2})
    for (int bucket : {4000, 10'000, 1'000'000}) {
      const Outcome run = run_of(folder, stage, 1,
                                 {fmt::format("zero_optimization.reduce_bucket_size={}", bucket),
                                  fmt::format("zero_optimization.allgather_bucket_size={}", bucket)});
      const double buckets = std::ceil(run.summary["parameters"].get<double>() / bucket);
      EXPECT_EQ(traffic_of(run, "gradients").calls, buckets) << "stage " << stage << ", bucket " << bucket;
      EXPECT_EQ(traffic_of(run, "parameters").calls, stage == 0 ? 0 : buckets)
          << "stage " << stage << ", bucket " << bucket;
    }
}

TEST(C59_Collectives, DoNotGrowWithAccumulationWhereTheReductionIsOfTheStep) {
  const Folder folder;
  for (int stage : {0, 1, 2, 3}) {
    const Set step = {"zero_optimization.reduce_every=STEP"},
              each = {"zero_optimization.reduce_every=MICRO_BATCH"};
    const Outcome one = run_of(folder, stage, 1), eight = run_of(folder, stage, 8);
    const double parameters = bytes_of_parameters(one);
    // The default: STEP at stages 0 and 1, MICRO_BATCH at 2 and 3.
    const double times = stage >= 2 ? 8 : 1;
    EXPECT_EQ(traffic_of(eight, "gradients").calls, times * traffic_of(one, "gradients").calls) << stage;
    EXPECT_EQ(traffic_of(run_of(folder, stage, 8, step), "gradients").calls,
              traffic_of(one, "gradients").calls)
        << stage;
    EXPECT_EQ(traffic_of(run_of(folder, stage, 8, each), "gradients").calls,
              8 * traffic_of(one, "gradients").calls)
        << stage;
    EXPECT_EQ(traffic_of(eight, "parameters").calls,
              (stage == 3 ? 8 : 1) * traffic_of(one, "parameters").calls)
        << stage;
    // Whatever agrees on numbers is small and of the step.
    EXPECT_EQ(traffic_of(eight, "control").calls, traffic_of(one, "control").calls) << stage;
    EXPECT_LT(traffic_of(eight, "control").bytes, 2000) << stage;
    // 2 Ψ at stages 0 to 2, and 3 Ψ at stage 3, less the embedding, whose backward reads no weights.
    const double unread = stage == 3 ? kSent * 4.0 * 257 * 32 : 0;
    EXPECT_NEAR(traffic_of(one, "gradients").bytes + traffic_of(one, "parameters").bytes + unread,
                kSent * (stage == 3 ? 3 : 2) * parameters, 0.05 * parameters)
        << stage;
    EXPECT_NEAR(traffic_of(eight, "gradients").bytes, times * traffic_of(one, "gradients").bytes, 1) << stage;
  }
}

}  // namespace
}  // namespace octant::runs
