// The volumes and the memory of the ZeRO paper (Rajbhandari 2020, sections 3.1, 7.1 and 7.2) on a real run,
// and 1F1B's bound on live micro-batches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/parity/harness.h"

namespace octant::parity {
namespace {

// Sizes of the untied LLAMA case: hidden 32, 8 heads of 4, 4 kv heads, ffn 88. All units divide by 4: no
// padding anywhere.
constexpr int64_t kTable = kVocabulary * 32;
constexpr int64_t kLayer = 2 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 88 * 32;
constexpr int64_t kParameters = 2 * kTable + 5 * kLayer + 32;

int64_t elements(const TrafficLedger& ledger, Collective operation, const std::string& purpose) {
  int64_t total = 0;
  for (const auto& [key, row] : ledger.rows()) {
    const auto& [group, at, what] = key;
    if (group == "data" && at == operation && what == purpose) total += row.elements;
  }
  return total;
}

TEST(TrafficLedger, HoldsThePapersVolumes) {
  constexpr int kRanks = 4;
  const Case model{.family = "LLAMA"};
  for (int stage : {0, 1, 2, 3}) {
    const Outcome outcome = train(model, {.data = kRanks, .stage = stage, .reshard = "ALWAYS"});
    // What each rank sends for one traversal of Ψ elements over five steps.
    const int64_t once = kParameters * (kRanks - 1) / kRanks * model.steps;
    const int64_t table = kTable * (kRanks - 1) / kRanks * model.steps;
    for (int rank = 0; rank < kRanks; ++rank) {
      const TrafficLedger& traffic = outcome.traffic[static_cast<size_t>(rank)];
      const std::string where = fmt::format("stage {}, rank {}", stage, rank);
      EXPECT_EQ(elements(traffic, Collective::kAllReduce, "gradients"), stage == 0 ? 2 * once : 0) << where;
      EXPECT_EQ(elements(traffic, Collective::kReduceScatter, "gradients"), stage == 0 ? 0 : once) << where;
      // Stage 3 gathers for the forward and for the backward; the embedding's backward needs no weights.
      const int64_t gathered = stage == 0 ? 0 : stage == 3 ? 2 * once - table : once;
      EXPECT_EQ(elements(traffic, Collective::kAllGather, "parameters"), gathered) << where;
      EXPECT_GT(traffic.total("data", "control").calls, 0) << where;
      EXPECT_EQ(traffic.total("data", "").elements, traffic.total("data", "gradients").elements +
                                                        traffic.total("data", "parameters").elements +
                                                        traffic.total("data", "control").elements)
          << where;
    }
  }
}

TEST(TrafficLedger, AutoKeepsTheHeadForItsBackward) {
  const Case model{.family = "LLAMA"};
  const auto gathered = [&](const std::string& reshard) {
    return elements(train(model, {.data = 4, .stage = 3, .reshard = reshard}).traffic[0],
                    Collective::kAllGather, "parameters");
  };
  const int64_t always = gathered("ALWAYS"), automatic = gathered("AUTO"), never = gathered("NEVER");
  EXPECT_EQ(always - automatic, (kTable + 32) * 3 / 4 * model.steps);
  EXPECT_EQ(never, kParameters * 3 / 4 * model.steps);
}

TEST(TrafficLedger, MicroBatchReductionMultipliesTheVolume) {
  const Case model{.family = "LLAMA"};
  const int64_t once = kParameters * 3 / 4 * model.steps;
  for (int stage : {2, 3})
    for (const std::string every : {"STEP", "MICRO_BATCH"}) {
      const Outcome outcome =
          train(model, {.data = 4, .stage = stage, .accumulation = 4, .reduce_every = every});
      EXPECT_EQ(elements(outcome.traffic[0], Collective::kReduceScatter, "gradients"),
                every == "STEP" ? once : 4 * once);
    }
}

// 16-bit parameters and gradients: 16, 4 + 12/N, 2 + 14/N and 16/N bytes a parameter.
TEST(MemoryLedger, HoldsThePapersBytesPerParameter) {
  Case model{.family = "LLAMA", .precision = "compute: BF16 gradients: SAME_AS_COMPUTE"};
  for (int ranks : {1, 2, 4})
    for (int stage : {0, 1, 2, 3}) {
      const Outcome outcome = train(model, {.data = ranks, .stage = stage});
      const int64_t whole = kParameters, slice = kParameters / ranks;
      for (const MemoryLedger& memory : outcome.memory) {
        const std::string where = fmt::format("stage {}, {} ranks", stage, ranks);
        EXPECT_EQ(memory.peak(MemoryKind::kParameters), 2 * (stage == 3 ? slice : whole)) << where;
        EXPECT_EQ(memory.peak(MemoryKind::kGradients), 2 * (stage >= 2 ? slice : whole)) << where;
        EXPECT_EQ(memory.peak(MemoryKind::kMasterWeights), 4 * (stage >= 1 ? slice : whole)) << where;
        EXPECT_EQ(memory.peak(MemoryKind::kOptimizer), 8 * (stage >= 1 ? slice : whole)) << where;
        const int64_t states = memory.peak(MemoryKind::kParameters) + memory.peak(MemoryKind::kGradients) +
                               memory.peak(MemoryKind::kMasterWeights) + memory.peak(MemoryKind::kOptimizer);
        const int64_t paper = stage == 0   ? 16 * whole
                              : stage == 1 ? 4 * whole + 12 * slice
                              : stage == 2 ? 2 * whole + 14 * slice
                                           : 16 * slice;
        EXPECT_EQ(states, paper) << where;
        // What passes through is named, and is nothing where nothing is cut.
        const bool passing = ranks > 1 && stage >= 2;
        EXPECT_EQ(memory.peak(MemoryKind::kCommunication) > 0, passing) << where;
      }
    }
}

TEST(MemoryLedger, ReshardPoliciesOrderThePeak) {
  const Case model{.family = "LLAMA"};
  const auto peak = [&](const std::string& reshard) {
    return train(model, {.data = 4, .stage = 3, .overlap = false, .reshard = reshard})
        .memory[0]
        .peak(MemoryKind::kCommunication);
  };
  EXPECT_LT(peak("ALWAYS"), peak("NEVER"));
  EXPECT_LE(peak("ALWAYS"), peak("AUTO"));
}

TEST(PipelineMemory, LiveMicroBatchesStayBelowTheStagesDistanceFromTheEnd) {
  for (int accumulation : {1, 2, 4, 8, 16}) {
    const Outcome outcome = train({}, {.pipeline = 4, .accumulation = accumulation});
    for (int stage = 0; stage < 4; ++stage)
      EXPECT_EQ(outcome.peak_live[static_cast<size_t>(stage)], std::min(accumulation, 4 - stage))
          << accumulation << " micro-batches";
  }
}

}  // namespace
}  // namespace octant::parity
