// Going on from a checkpoint: bit for bit on the same layout, within round-off on another, and by the rules
// of `checkpoint.resume`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/inspect.h"
#include "checkpoint/manifest.h"
#include "checkpoint/reader.h"
#include "core/error.h"
#include "tests/train/run.h"
#include "train/learning_rate.h"

namespace octant::runs {
namespace {

// Asks for a stop when the run has printed a step.
struct StopAfter {
  explicit StopAfter(int64_t step) : text(fmt::format("step {}/", step)) {
    hooks = {.stop = &signal, .on_line = [this](World&, const std::string& line) {
               if (line.starts_with(text)) signal = 15;
             }};
  }
  std::string text;
  std::atomic<int> signal = 0;
  Hooks hooks;
};

Set both(Set a, const Set& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class StraightRun : public testing::TestWithParam<Set> {};

TEST_P(StraightRun, EqualsSaveAndResumeBitForBit) {
  const Folder folder;
  const Set set = both({"training.steps=8", "checkpoint.interval=4", "model.dropout=0.1",
                        "learning_rate_schedule.decay=COSINE", "learning_rate_schedule.warmup_steps=2",
                        "learning_rate_schedule.decay_steps=8"},
                       GetParam());
  const Outcome straight = good_run(folder, "straight", set);
  const Outcome half = good_run(folder, "cut", set, {"training.steps=4"});
  EXPECT_EQ(half.steps.size(), 4u);
  const Outcome complete = good_run(folder, "cut", set);
  EXPECT_EQ(complete.result.steps, 8);
  expect_same_steps(straight, complete, name_of(GetParam()));
  expect_same_checkpoint(straight.checkpoint(8), complete.checkpoint(8), name_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    Resume, StraightRun,
    testing::Values(Set{}, layout(2, 2, 2, 2), layout(2, 2, 2, 3), both(layout(2, 1, 2, 1), kLlama),
                    both(layout(2, 2, 2, 2), {"precision.compute=BF16"}),
                    both(layout(2, 1, 2, 3), {"precision.compute=BF16", "parallel.tensor=2"}),
                    both(layout(2, 1, 1, 3), {"precision.compute=F16"}),
                    // A scale that overflows at first and grows within the run.
                    both(layout(2, 1, 2, 2),
                         {"precision.compute=F16",
                          "precision.loss_scale={initial: 1e9 window: 2 hysteresis: 1}"})));

TEST(C11_Resume, OnOtherLayoutsFollowsTheUninterruptedRun) {
  const Folder folder;
  const Set set = {"training.steps=20", "checkpoint.interval=10", "model.vocab_size=1024"};
  const Outcome straight = good_run(folder, "straight", set, layout(4, 1, 1, 1));
  for (const Set& cut : {layout(2, 1, 1, 1), layout(3, 1, 1, 3), layout(1, 2, 2, 0), layout(2, 1, 2, 1),
                         layout(1, 1, 1, 0), layout(4, 1, 1, 2)}) {
    const Outcome resumed = good_run(folder, "resumed", both(set, cut),
                                     {"checkpoint.resume_from=" + straight.checkpoint(10).string()});
    ASSERT_EQ(resumed.steps.size(), 10u) << name_of(cut);
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(resumed.steps[i]["step"], 11 + i);
      const double loss = straight.losses()[10 + i], norm = straight.norms()[10 + i];
      EXPECT_NEAR(resumed.losses()[i], loss, (i == 0 ? 1e-6 : 1e-4) * loss)
          << name_of(cut) << ", step " << 11 + i;
      EXPECT_NEAR(resumed.norms()[i], norm, (i == 0 ? 1e-5 : 1e-3) * norm)
          << name_of(cut) << ", step " << 11 + i;
    }
    expect_close_weights(straight.checkpoint(20), resumed.checkpoint(20), 1e-4, name_of(cut));
    EXPECT_EQ(read_manifest(resumed.checkpoint(20)).optimizer().step_count(), 20u);
    std::filesystem::remove_all(resumed.folder);
  }
}

TEST(C11_Resume, OverTensorDegreesAndBackLosesNothing) {
  const Folder folder;
  const Set set = {"training.steps=4", "checkpoint.interval=4"};
  const Outcome saved = good_run(folder, "saved", set, layout(1, 2, 1, 0));
  // With a rate of 0 a step changes the moments alone; without counted tokens it changes nothing.
  std::vector<std::vector<int32_t>> tokens(1, std::vector<int32_t>(40 * 16 + 1, 3)),
      masks(1, std::vector<int32_t>(40 * 16 + 1, 0));
  write_pair(folder, "masked", tokens, masks);
  const Set still = {data_of(folder, "masked", true), "training.steps=5", "checkpoint.interval=1"};
  const Outcome one = good_run(folder, "one", both(still, layout(1, 1, 1, 0)),
                               {"checkpoint.resume_from=" + saved.checkpoint(4).string()});
  const Outcome back = good_run(folder, "back", both(still, layout(2, 2, 2, 3)),
                                {"training.steps=6", "checkpoint.resume_from=" + one.checkpoint(5).string()});
  expect_same_checkpoint(saved.checkpoint(4), one.checkpoint(5), "tensor 2 to 1");
  expect_same_checkpoint(saved.checkpoint(4), back.checkpoint(6), "tensor 1 to 2");
}

TEST(C21_LearningRate, AfterAResumeIsThatOfTheStep) {
  const Folder folder;
  const Set set = {"training.steps=40",
                   "checkpoint.interval=100",
                   "learning_rate_schedule.decay=COSINE",
                   "learning_rate_schedule.warmup_steps=5",
                   "learning_rate_schedule.min_learning_rate=1e-4",
                   "model.num_layers=2"};
  const Outcome straight = good_run(folder, "straight", set);
  const auto stopped_at = [&](const std::string& name, int64_t step) {
    StopAfter stop(step);
    const Outcome run = good_run(folder, name, set, {}, stop.hooks);
    EXPECT_TRUE(run.result.stopped);
    EXPECT_TRUE(run.result.checkpointed);
    EXPECT_EQ(run.result.steps, step);
    return run;
  };
  // (i) unchanged
  const Outcome saved = stopped_at("once", 15);
  EXPECT_EQ(saved.steps.size(), 15u);
  const std::string from = "checkpoint.resume_from=" + saved.checkpoint(15).string();
  const Outcome once = good_run(folder, "once", set);
  expect_same_steps(straight, once, "resumed once");
  EXPECT_FALSE(once.printed("changed since the checkpoint"));
  // (iv) twice
  stopped_at("twice", 15);
  stopped_at("twice", 22);
  expect_same_steps(straight, good_run(folder, "twice", set), "resumed twice");
  // (ii) and (iii): the pure function of the new settings and the step, and each changed field in the log
  const auto expect_follows = [&](const std::string& name, const Set& change,
                                  const std::vector<std::string>& lines) {
    const Set changed = both(set, both({from}, change));
    const Outcome run = good_run(folder, name, changed);
    const Job settings = job(folder, name, changed);
    ASSERT_FALSE(run.steps.empty());
    for (const nlohmann::json& step : run.steps)
      EXPECT_EQ(step["learning_rate"].get<double>(),
                learning_rate(settings.learning_rate, step["step"].get<int64_t>() - 1));
    EXPECT_NE(run.column("learning_rate")[3], straight.column("learning_rate")[18]);
    for (const std::string& line : lines) EXPECT_TRUE(run.printed(line)) << line << " in: " << run.output;
  };
  expect_follows("longer", {"training.steps=80"},
                 {"training.steps: 40 → 80", "learning_rate_schedule.decay_steps: 40 → 80"});
  expect_follows("lower", {"optimizer.adamw.learning_rate=1e-3"},
                 {"optimizer.adamw.learning_rate: 0.002 → 0.001"});
}

TEST(C29_WeightsOnly, ForgetsMomentsStepAndPosition) {
  const Folder folder;
  const Set set = {"training.steps=6", "checkpoint.interval=6"};
  const Outcome saved = good_run(folder, "saved", set);
  const Outcome afresh = good_run(folder, "afresh", set,
                                  {"checkpoint.resume_from=" + saved.checkpoint(6).string(),
                                   "checkpoint.weights_only=true", "training.steps=0"});
  expect_close_weights(saved.checkpoint(6), afresh.checkpoint(0), 0.0, "weights");
  const stored::Manifest manifest = read_manifest(afresh.checkpoint(0));
  EXPECT_EQ(manifest.step(), 0u);
  EXPECT_EQ(manifest.tokens(), 0u);
  EXPECT_EQ(manifest.consumed_samples(), 0u);
  EXPECT_EQ(manifest.optimizer().step_count(), 0u);
  CheckpointReader reader(afresh.checkpoint(0));
  int moments = 0;
  for (const stored::Tensor& tensor : reader.manifest().tensors()) {
    if (tensor.kind() == stored::WEIGHT) continue;
    const Shape shape = shape_of(tensor);
    std::vector<float> values(static_cast<size_t>(shape.elements()), 1.0f);
    reader.read(tensor, whole(shape), values.data());
    for (float value : values) ASSERT_EQ(value, 0.0f) << tensor.name();
    ++moments;
  }
  EXPECT_GT(moments, 40);
  const Outcome trained =
      good_run(folder, "trained", set,
               {"checkpoint.resume_from=" + saved.checkpoint(6).string(), "checkpoint.weights_only=true"});
  EXPECT_EQ(trained.steps.front()["step"], 1);
  EXPECT_LT(trained.losses()[0], saved.losses()[0]);
}

TEST(ResumeRules, NeverRequiredAndFrom) {
  const Folder folder;
  const Set set = {"training.steps=2", "checkpoint.interval=1"};
  const Outcome missing = run(folder, "run", set, {"checkpoint.resume=REQUIRED"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.message.find("REQUIRED"), std::string::npos) << missing.message;
  const Outcome first = good_run(folder, "run", set, {"checkpoint.resume=NEVER"});
  const Outcome again = run(folder, "run", set, {"checkpoint.resume=NEVER", "training.steps=4"});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_NE(again.message.find("NEVER"), std::string::npos) << again.message;
  EXPECT_EQ(again.steps.size(), 2u) << "the metrics of the earlier run are untouched";
  const Outcome required = good_run(folder, "run", set, {"checkpoint.resume=REQUIRED", "training.steps=4"});
  EXPECT_EQ(required.steps.size(), 4u);
  const Outcome nowhere =
      run(folder, "other", set, {"checkpoint.resume_from=" + (folder / "nowhere").string()});
  EXPECT_EQ(nowhere.exit_code, 3);
  EXPECT_NE(nowhere.message.find("nowhere"), std::string::npos) << nowhere.message;
  const Outcome model =
      run(folder, "other", set,
          {"checkpoint.resume_from=" + first.checkpoint(1).string(), "model.hidden_size=64"});
  EXPECT_EQ(model.exit_code, 3);
  EXPECT_NE(model.message.find("another model"), std::string::npos) << model.message;
  const Outcome kind =
      run(folder, "other", set,
          {"checkpoint.resume_from=" + first.checkpoint(1).string(), "optimizer={sgd{learning_rate: 0.1}}"});
  EXPECT_EQ(kind.exit_code, 3);
  EXPECT_NE(kind.message.find("weights_only"), std::string::npos) << kind.message;
  // A finished run has nothing left to do.
  const Outcome done = good_run(folder, "run", set, {"training.steps=4"});
  EXPECT_EQ(done.steps.size(), 4u);
  EXPECT_EQ(done.result.steps, 4);
}

TEST(ResumeRules, ResumeFromBeginsARunThatThenGoesOnByItself) {
  const Folder folder;
  const Set set = {"training.steps=4", "checkpoint.interval=1", "checkpoint.keep=0"};
  const Outcome origin = good_run(folder, "origin", set);
  const Set begin = {"checkpoint.resume_from=" + origin.checkpoint(2).string(),
                     "checkpoint.weights_only=true"};
  const Outcome first = good_run(folder, "tuned", set, begin);
  ASSERT_EQ(first.steps.size(), 4u);
  // The same command again: its own checkpoint with moments and step, not the weights that it began from.
  const Outcome more = good_run(folder, "tuned", both(set, begin), {"training.steps=6"});
  ASSERT_EQ(more.steps.size(), 6u);
  EXPECT_EQ(more.losses()[3], first.losses()[3]);
  EXPECT_TRUE(more.printed("began this run")) << more.output;
  // Naming one of its own goes back to it.
  const Outcome back =
      good_run(folder, "tuned", set, {"checkpoint.resume_from=" + first.checkpoint(3).string()});
  EXPECT_TRUE(back.printed("(step 3)")) << back.output;
}

TEST(OutputFolder, SharedCheckpointFoldersAreKeptApart) {
  const Folder folder;
  const Set set = {"training.steps=2", "checkpoint.interval=1",
                   "checkpoint.dir=" + (folder / "shared").string()};
  Outcome second;
  const Hooks hooks{.on_line = [&](World&, const std::string& line) {
    if (line.starts_with("step 1/")) second = run(folder, "second", set);
  }};
  good_run(folder, "first", set, {}, hooks);
  EXPECT_EQ(second.exit_code, 3);
  EXPECT_NE(second.message.find("checkpoint.dir"), std::string::npos) << second.message;
}

TEST(Metrics, AreCutBackToTheResumedStep) {
  const Folder folder;
  const Set set = {"training.steps=7", "checkpoint.interval=3", "training.eval_interval=1",
                   "data.validation_fraction=0.05"};
  const Outcome first = good_run(folder, "run", set);
  EXPECT_EQ(first.steps.size(), 7u);
  EXPECT_EQ(first.evaluations.size(), 7u);
  std::filesystem::remove_all(first.checkpoint(7));
  std::filesystem::remove_all(first.checkpoint(6));
  std::ofstream(first.folder / "metrics.jsonl", std::ios::app)
      << "{\"step\":8,\"lo";  // as a killed run leaves it
  const Outcome second = good_run(folder, "run", set, {"training.steps=8", "checkpoint.interval=4"});
  ASSERT_EQ(second.steps.size(), 8u);
  ASSERT_EQ(second.evaluations.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(second.steps[i]["step"], i + 1);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(second.losses()[i], first.losses()[i]);
  EXPECT_EQ(second.evaluations[6]["eval_loss"], first.evaluations[6]["eval_loss"]);
}

TEST(Stop, IsAgreedSavedAndContinued) {
  const Folder folder;
  const Set set = both({"training.steps=8", "checkpoint.interval=100"}, layout(2, 1, 2, 2));
  const Outcome straight = good_run(folder, "straight", set);
  StopAfter stop(3);
  const Outcome stopped = good_run(folder, "cut", set, {}, stop.hooks);
  EXPECT_TRUE(stopped.result.stopped);
  EXPECT_TRUE(stopped.result.checkpointed);
  EXPECT_EQ(stopped.result.steps, 3);
  EXPECT_EQ(stopped.steps.size(), 3u);
  EXPECT_EQ(folders_in(stopped.folder / "checkpoints"), std::vector<std::string>{"step_00000003"});
  const Outcome complete = good_run(folder, "cut", set);
  expect_same_steps(straight, complete, "after a stop");
  expect_same_checkpoint(straight.checkpoint(8), complete.checkpoint(8), "after a stop");
  // Without checkpoints there is nothing to save, and the run says so.
  StopAfter unsaved(1);
  const Outcome lost = good_run(folder, "lost", set, {"checkpoint.interval=0"}, unsaved.hooks);
  EXPECT_TRUE(lost.result.stopped);
  EXPECT_FALSE(lost.result.checkpointed);
  EXPECT_FALSE(std::filesystem::exists(lost.folder / "checkpoints"));
}

TEST(OutputFolder, BelongsToOneRunAtATime) {
  const Folder folder;
  Outcome second;
  bool tried = false;
  const Hooks hooks{.on_line = [&](World&, const std::string& line) {
    if (tried || !line.starts_with("step 1/")) return;
    tried = true;
    second = run(folder, "run", {"training.steps=2"});
  }};
  const Outcome first = good_run(folder, "run", {"training.steps=2"}, {}, hooks);
  EXPECT_TRUE(tried);
  EXPECT_EQ(second.exit_code, 3);
  EXPECT_NE(second.message.find("another run writes into output_dir"), std::string::npos) << second.message;
  EXPECT_EQ(first.steps.size(), 2u);
  good_run(folder, "run", {"training.steps=2"});  // and the lock goes with its run
}

}  // namespace
}  // namespace octant::runs
