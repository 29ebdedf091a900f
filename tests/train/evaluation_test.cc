// C34: the validation loss is of the data alone: every sequence once, whatever the layout, and training does
// not notice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/train/run.h"
#include "train/evaluation.h"
#include "train/setup.h"

namespace octant::runs {
namespace {

EvaluationReport evaluate_on(const Folder& folder, const Set& set, const Set& cut,
                             const std::string& checkpoint) {
  const Job settings = job(folder, "evaluation", set, cut);
  EvaluationReport report;
  const WorldResult ended = threads::run(
      settings.parallel.ranks(), world_options(settings),
      device_factory(settings, placement_of(settings, settings.parallel.ranks(), false)), [&](World& world) {
        const EvaluationReport mine = evaluate_checkpoint(world, settings, checkpoint);
        if (world.rank() == 0) report = mine;
      });
  EXPECT_EQ(ended.exit_code, 0) << name_of(cut) << ": " << ended.message;
  return report;
}

std::string with_validation(const Folder& folder, const std::string& name) {
  const auto pair = [&](const std::string& at) {
    return fmt::format("indexed{{prefix:'{0}' mask_prefix:'{0}_mask'}}", (folder / at).string());
  };
  return fmt::format("data={{train{{{}}} validation{{{}}}}}", pair("train"), pair(name));
}

TEST(C34_Evaluation, DoesNotDependOnTheNumberOfRanks) {
  const Folder folder;
  write_unequal(folder, "train", 60);
  const Outcome trained = good_run(folder, "trained", {"training.steps=3", "checkpoint.interval=3"});
  const std::string checkpoint = trained.checkpoint(3).string();
  for (const auto& [sequences, micro] : {std::pair{22, 8}, std::pair{3, 1}}) {
    write_unequal(folder, "validation", sequences);
    const Set set = {with_validation(folder, "validation")};
    std::optional<EvaluationReport> one;
    for (const Set& grid : {layout(1, 1, 1, 0), layout(2, 1, 1, 0), layout(3, 1, 1, 1), layout(4, 1, 1, 0),
                            layout(4, 1, 1, 3), layout(1, 2, 2, 0), layout(2, 2, 2, 3)}) {
      const int data = grid[0].back() - '0';
      const EvaluationReport report = evaluate_on(
          folder, set,
          {grid[0], grid[1], grid[2], grid[3],
           fmt::format("batch={{global_batch_size: {} micro_batch_size: {}}}", micro * data, micro)},
          checkpoint);
      EXPECT_EQ(report.sequences, sequences) << name_of(grid);
      ASSERT_TRUE(report.loss.has_value()) << name_of(grid);
      if (!one) one = report;
      EXPECT_EQ(report.tokens, one->tokens) << name_of(grid);
      EXPECT_NEAR(*report.loss, *one->loss, 1e-6 * *one->loss) << name_of(grid);
    }
    EXPECT_GT(one->tokens, 0);
    EXPECT_LT(one->tokens, sequences * 16);
  }
}

TEST(C08_Dropout, IsOffInEvaluation) {
  const Folder folder;
  const Set set = {"data.validation_fraction=0.1"};
  const Outcome trained = good_run(folder, "trained", set, {"training.steps=3", "checkpoint.interval=3"});
  const std::string checkpoint = (folder / "trained").string();  // the newest of a run's folder
  const EvaluationReport without = evaluate_on(folder, set, {}, checkpoint);
  for (int tensor : {1, 2, 4}) {
    const EvaluationReport with = evaluate_on(
        folder, set, {"model.dropout=0.1", fmt::format("parallel.tensor={}", tensor)}, checkpoint);
    EXPECT_NEAR(*with.loss, *without.loss, 1e-6 * *without.loss) << tensor;
    EXPECT_EQ(with.sequences, 52);  // ⌈0.1 · 511⌉
    EXPECT_EQ(with.tokens, 52 * 16);
  }
}

TEST(C34_Evaluation, ChangesNoBitOfTraining) {
  const Folder folder;
  for (const Set& grid : {layout(1, 1, 1, 0), layout(2, 2, 1, 3), layout(2, 1, 2, 2)}) {
    Set set = {"training.steps=6", "checkpoint.interval=6", "model.dropout=0.1",
               "data.validation_fraction=0.1"};
    set.insert(set.end(), grid.begin(), grid.end());
    const Outcome with = good_run(folder, "with", set, {"training.eval_interval=2"});
    const Outcome without = good_run(folder, "without", set);
    expect_same_steps(without, with, name_of(grid));
    expect_same_checkpoint(without.checkpoint(6), with.checkpoint(6), name_of(grid));
    ASSERT_EQ(with.evaluations.size(), 3u);
    EXPECT_EQ(with.evaluations[0]["step"], 2);
    EXPECT_EQ(with.evaluations[2]["eval_sequences"], 52);
    EXPECT_LT(with.evaluations[2]["eval_loss"].get<double>(), with.evaluations[0]["eval_loss"].get<double>());
    for (const Outcome* run : {&with, &without}) std::filesystem::remove_all(run->folder);
  }
}

TEST(C34_Evaluation, TakesAsManyBatchesAsAsked) {
  const Folder folder;
  const Outcome run = good_run(folder, "run",
                               {"training.steps=2", "training.eval_interval=1", "training.eval_batches=2",
                                "data.validation_fraction=0.1"});
  ASSERT_EQ(run.evaluations.size(), 2u);
  EXPECT_EQ(run.evaluations[0]["eval_sequences"], 24);
  EXPECT_EQ(run.evaluations[0]["eval_tokens"], 24 * 16);
}

}  // namespace
}  // namespace octant::runs
