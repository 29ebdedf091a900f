// What the system counts against what the ledgers count: a process of its own for every run, whose peak
// nothing else has raised.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/faults/job.h"

namespace octant::faults {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kShadowMemory = true;
#else
constexpr bool kShadowMemory = false;
#endif

constexpr double kMiB = 1048576.0;

class C56_ResidentMemory : public Faults {
 protected:
  void SetUp() override {
    if (kShadowMemory) GTEST_SKIP() << "a sanitizer holds memory of its own";
  }

  // 6.4 M parameters: 97 MiB of weights, gradients and moments in f32.
  nlohmann::json ranks_of(Set set, Ranks kind) const {
    for (const char* more : {"model.num_layers=8", "model.hidden_size=256", "model.sequence_length=64",
                             "training.steps=3", "batch={global_batch_size:4 micro_batch_size:1}"})
      set.push_back(more);
    const Ended ended = train(set, kind);
    EXPECT_EQ(ended.code, 0) << ended.text();
    std::ifstream file(folder() / "out" / "summary.json");
    const nlohmann::json summary = nlohmann::json::parse(file, nullptr, false);
    return summary.is_object() ? summary["ranks"] : nlohmann::json::array();
  }

  static double ledger_of(const nlohmann::json& rank) { return rank["peak_bytes"]["total"].get<double>(); }

  static void expect_close(const nlohmann::json& resident, double ledger) {
    ASSERT_TRUE(resident.is_number()) << "the system does not tell";
    EXPECT_GE(ledger, 90 * kMiB);
    EXPECT_LE(resident.get<double>(), 1.1 * ledger + 100 * kMiB) << "ledger " << ledger / kMiB << " MiB";
    EXPECT_GE(resident.get<double>(), 0.5 * ledger) << "ledger " << ledger / kMiB << " MiB";
  }
};

TEST_F(C56_ResidentMemory, OfOneRank) {
  const nlohmann::json ranks = ranks_of({}, Ranks::kThreads);
  ASSERT_EQ(ranks.size(), 1u);
  expect_close(ranks[0]["peak_resident_bytes"], ledger_of(ranks[0]));
}

TEST_F(C56_ResidentMemory, OfThreadRanksTogether) {
  const nlohmann::json ranks = ranks_of({"parallel.data=2", "zero_optimization.stage=1"}, Ranks::kThreads);
  ASSERT_EQ(ranks.size(), 2u);
  expect_close(ranks[0]["peak_resident_bytes"], ledger_of(ranks[0]) + ledger_of(ranks[1]));
}

TEST_F(C56_ResidentMemory, OfEachProcessUnderMpi) {
  const nlohmann::json ranks = ranks_of({"parallel.data=2", "zero_optimization.stage=0"}, Ranks::kMpi);
  ASSERT_EQ(ranks.size(), 2u);
  for (const nlohmann::json& rank : ranks) expect_close(rank["peak_resident_bytes"], ledger_of(rank));
}

}  // namespace
}  // namespace octant::faults
