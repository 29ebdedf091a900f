// Pairs of options: each trains as the plain run does, and those that only move work in time give the same
// bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/train/run.h"

namespace octant::runs {
namespace {

TEST(C29_Pairs, TrainAsThePlainRun) {
  const Folder folder;
  for (bool tied : {true, false}) {
    Set set = {"training.steps=3", fmt::format("model.tie_embeddings={}", tied)};
    const Outcome plain = good_run(folder, "plain", set);
    for (int stage : {0, 1, 2, 3})
      for (int pipeline : {1, 2})
        for (bool recompute : {false, true})
          for (int accumulation : {1, 3})
            for (bool overlap : {false, true}) {
              Set cut = layout(2, 1, pipeline, stage);
              cut.push_back(fmt::format("activation_checkpointing.mode={}", recompute ? "FULL" : "NONE"));
              cut.push_back(fmt::format("batch.gradient_accumulation_steps={}", accumulation));
              cut.push_back(fmt::format("zero_optimization.overlap_comm={}", overlap));
              expect_tol32(plain, good_run(folder, "pair", set, cut), name_of(cut));
              if (HasFailure()) return;
            }
  }
}

TEST(C29_Pairs, OptionsWithoutEffectAreNamed) {
  const Folder folder;
  const Outcome run = good_run(
      folder, "run", {"zero_optimization.reduce_bucket_size=1000", "parallel.sequence_parallel=true"});
  EXPECT_TRUE(run.printed("parallel.sequence_parallel")) << run.output;
  EXPECT_TRUE(run.printed("zero_optimization.reduce_bucket_size")) << run.output;
}

TEST(C60_Overlap, ChangesNoBit) {
  const Folder folder;
  for (int stage : {0, 1, 2, 3})
    for (const Set& grid : {layout(2, 1, 1, stage), layout(2, 2, 2, stage)}) {
      Set set = {"training.steps=4", "checkpoint.interval=4", "batch.gradient_accumulation_steps=3",
                 "zero_optimization.reduce_bucket_size=3000", "zero_optimization.allgather_bucket_size=3000"};
      set.insert(set.end(), grid.begin(), grid.end());
      const Outcome on = good_run(folder, "on", set, {"zero_optimization.overlap_comm=true"});
      const Outcome off = good_run(folder, "off", set, {"zero_optimization.overlap_comm=false"});
      expect_same_steps(on, off, name_of(grid));
      expect_same_checkpoint(on.checkpoint(4), off.checkpoint(4), name_of(grid));
      EXPECT_TRUE(on.steps[0].contains("wait_seconds"));
      for (const Outcome* run : {&on, &off}) std::filesystem::remove_all(run->folder);
    }
}

}  // namespace
}  // namespace octant::runs
