// What must not depend on how a run is cut: losses, norms, first weights, the logical vocabulary.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/inspect.h"
#include "checkpoint/manifest.h"
#include "checkpoint/reader.h"
#include "tests/train/run.h"

namespace octant::runs {
namespace {

double spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / *low;
}

TEST(C02_TiedEmbedding, OneTensorOverAllPipelineStages) {
  const Folder folder;
  const Set set = {"training.steps=20", "checkpoint.interval=20"};
  const Outcome one = good_run(folder, "one", set);
  for (const Set& cut : {layout(1, 1, 2, 0), layout(1, 1, 3, 0), layout(2, 2, 2, 1)}) {
    const Outcome many = good_run(folder, "many", set, cut);
    expect_tol32(one, many, name_of(cut));
    expect_close_weights(one.checkpoint(20), many.checkpoint(20), 1e-4, name_of(cut));
    // The tied parameter is stored once: no tensor of a head.
    const stored::Manifest manifest = read_manifest(many.checkpoint(20));
    int of_vocabulary = 0;
    for (const stored::Tensor& tensor : manifest.tensors())
      if (tensor.kind() == stored::WEIGHT && tensor.shape(0) == 257) ++of_vocabulary;
    EXPECT_EQ(of_vocabulary, 1) << name_of(cut);
    std::filesystem::remove_all(many.folder);
  }
}

TEST(C05_TokenWeightedLoss, DoesNotDependOnTheCut) {
  const Folder folder;
  write_unequal(folder, "unequal", 96);
  const Set set = {data_of(folder, "unequal", true), "training.steps=5", "batch.global_batch_size=16"};
  const Outcome one = good_run(folder, "one", set, {"batch.micro_batch_size=16"});
  const auto counted = one.column("tokens");
  EXPECT_LT(*std::max_element(counted.begin(), counted.end()), 16 * 16);
  EXPECT_GT(*std::min_element(counted.begin(), counted.end()), 0);
  const std::vector<std::pair<Set, Set>> cuts = {{layout(1, 1, 1, 0), {"batch.micro_batch_size=1"}},
                                                 {layout(4, 1, 1, 0), {"batch.micro_batch_size=2"}},
                                                 {layout(4, 1, 1, 3), {"batch.micro_batch_size=1"}},
                                                 {layout(1, 1, 2, 0), {"batch.micro_batch_size=1"}}};
  for (auto [cut, micro] : cuts) {
    cut.insert(cut.end(), micro.begin(), micro.end());
    const Outcome many = good_run(folder, "many", set, cut);
    expect_tol32(one, many, name_of(cut));
    EXPECT_EQ(many.column("tokens"), counted);
    std::filesystem::remove_all(many.folder);
  }
}

// A global batch without a counted token: no loss, no update, and the run goes on.
TEST(C05_TokenWeightedLoss, IsNoneWithoutACountedToken) {
  const Folder folder;
  std::vector<std::vector<int32_t>> tokens(1), masks(1);
  for (int i = 0; i < 40 * 16 + 1; ++i) {
    tokens[0].push_back(i % 257);
    masks[0].push_back(0);
  }
  write_pair(folder, "masked", tokens, masks);
  const Set set = {data_of(folder, "masked", true), "training.steps=3", "checkpoint.interval=1"};
  for (const Set& cut : {layout(1, 1, 1, 0), layout(2, 1, 2, 3)}) {
    const Outcome start = good_run(folder, "start", set, {"training.steps=0"});
    const Outcome none = good_run(folder, "none", set, cut);
    ASSERT_EQ(none.steps.size(), 3u);
    for (const nlohmann::json& step : none.steps) {
      EXPECT_TRUE(step["loss"].is_null());
      EXPECT_EQ(step["tokens"], 0);
      EXPECT_EQ(step["grad_norm"], 0.0);
      EXPECT_TRUE(step.value("skipped", false));
    }
    EXPECT_EQ(none.result.steps, 3);
    EXPECT_FALSE(none.result.loss.has_value());
    EXPECT_TRUE(none.printed("loss none"));
    expect_same_checkpoint(start.checkpoint(0), none.checkpoint(3), name_of(cut));
    EXPECT_EQ(read_manifest(none.checkpoint(3)).step(), 3u);
    EXPECT_EQ(read_manifest(none.checkpoint(3)).consumed_samples(), 36u);
    EXPECT_EQ(read_manifest(none.checkpoint(3)).optimizer().step_count(), 0u);
    std::filesystem::remove_all(none.folder);
    std::filesystem::remove_all(start.folder);
  }
}

TEST(C06_GradientNorm, CountsEveryElementOnceInAllLayouts) {
  const Folder folder;
  for (const Set& family : {Set{}, kLlama}) {
    Set set = {"training.steps=10", "optimizer.clip_grad_norm=0.1"};
    set.insert(set.end(), family.begin(), family.end());
    std::vector<double> first, last;
    for (const Set& cut : {layout(1, 1, 1, 0), layout(4, 1, 1, 0), layout(4, 1, 1, 1), layout(4, 1, 1, 2),
                           layout(4, 1, 1, 3), layout(1, 4, 1, 0), layout(2, 2, 1, 3), layout(1, 2, 2, 0)}) {
      const Outcome run = good_run(folder, "run", set, cut);
      ASSERT_EQ(run.norms().size(), 10u);
      first.push_back(run.norms()[0]);
      last.push_back(run.norms()[9]);
      const Outcome free =
          good_run(folder, "free", set,
                   {"optimizer.clip_grad_norm=0", "training.steps=1", cut[0], cut[1], cut[2], cut[3]});
      EXPECT_EQ(free.norms()[0], run.norms()[0]) << "the norm is taken before clipping";
    }
    EXPECT_GT(first[0], 0.1);  // clipping is active
    EXPECT_LT(spread(first), 1e-5);
    EXPECT_LT(spread(last), 1e-3);
  }
}

TEST(C08_Dropout, IsTheSameInEveryLayout) {
  const Folder folder;
  const Set set = {"training.steps=5", "model.dropout=0.1", "checkpoint.interval=5"};
  const Outcome one = good_run(folder, "one", set);
  const Outcome without = good_run(folder, "without", {"training.steps=5"});
  EXPECT_NE(one.losses()[0], without.losses()[0]);
  for (const Set& cut : {layout(1, 2, 1, 0), layout(1, 4, 1, 0), layout(1, 1, 2, 0), layout(2, 2, 1, 3)}) {
    const Outcome many = good_run(folder, "many", set, cut);
    expect_tol32(one, many, name_of(cut));
    expect_close_weights(one.checkpoint(5), many.checkpoint(5), 1e-4, name_of(cut));
    std::filesystem::remove_all(many.folder);
  }
  for (const Set& cut : {layout(1, 1, 1, 0), layout(1, 2, 2, 0)}) {
    const Outcome kept = good_run(folder, "kept", set, cut);
    const Outcome again = good_run(folder, "again", set,
                                   {"activation_checkpointing.mode=FULL", cut[0], cut[1], cut[2], cut[3]});
    expect_same_steps(kept, again, "recomputation, " + name_of(cut));
    expect_same_checkpoint(kept.checkpoint(5), again.checkpoint(5), "recomputation, " + name_of(cut));
    std::filesystem::remove_all(kept.folder);
    std::filesystem::remove_all(again.folder);
  }
}

TEST(C09_FirstWeights, AreBitIdenticalInEveryLayout) {
  const Folder folder;
  for (const Set& family : {Set{}, kLlama}) {
    Set set = {"training.steps=0", "checkpoint.interval=1"};
    set.insert(set.end(), family.begin(), family.end());
    const Outcome one = good_run(folder, "one", set);
    EXPECT_TRUE(one.result.checkpointed);
    for (const Set& cut : {layout(4, 1, 1, 3), layout(1, 2, 1, 0), layout(1, 4, 1, 0), layout(1, 1, 2, 0),
                           layout(1, 1, 4, 0), layout(2, 2, 2, 1), layout(3, 1, 1, 3)}) {
      const Outcome many = good_run(folder, "many", set, cut);
      expect_same_checkpoint(one.checkpoint(0), many.checkpoint(0), name_of(cut));
      std::filesystem::remove_all(many.folder);
    }
    const Outcome other = good_run(folder, "other", set, {"seed=43"});
    int different = 0;
    const DiffReport diff = diff_checkpoints(one.checkpoint(0), other.checkpoint(0), {.weights_only = true});
    for (const TensorDiff& tensor : diff.tensors)
      if (tensor.state == DiffState::kDifferent) ++different;
    EXPECT_GE(different, 5 * 4 + 1);
    for (const Outcome* run : {&one, &other}) std::filesystem::remove_all(run->folder);
  }
}

TEST(C09_FirstWeights, SpreadAsAskedWhateverTheCut) {
  const Folder folder;
  const Outcome run =
      good_run(folder, "run",
               {"training.steps=0", "checkpoint.interval=1", "model.init_std=0.02", "model.hidden_size=128"},
               layout(1, 4, 1, 0));
  CheckpointReader reader(run.checkpoint(0));
  int matrices = 0;
  for (const stored::Tensor& tensor : reader.manifest().tensors()) {
    if (tensor.kind() != stored::WEIGHT || tensor.shape_size() != 2) continue;
    const Shape shape = shape_of(tensor);
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    reader.read(tensor, whole(shape), values.data());
    double squares = 0;
    for (float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
    const double std = std::sqrt(squares / static_cast<double>(values.size()));
    // Projections back into the residual stream start smaller by √(2 L).
    const double scaled = 0.02 / std::sqrt(2.0 * 5.0);
    const double expected = std < 0.013 ? scaled : 0.02;
    EXPECT_NEAR(std, expected, 0.05 * expected) << tensor.name();
    ++matrices;
  }
  EXPECT_GE(matrices, 5 * 4 + 2);
}

TEST(C10_Bf16, SumsGradientsInF32) {
  const Folder folder;
  std::vector<std::vector<int32_t>> tokens(1);
  for (int i = 0; i < 80 * 16 + 1; ++i) tokens[0].push_back(i % 16 * 13);  // every window is the same
  write_pair(folder, "same", tokens);
  const Set set = {data_of(folder, "same", false), "training.steps=1", "precision.compute=BF16",
                   "batch.micro_batch_size=1", "batch.global_batch_size=64"};
  const double one = good_run(folder, "one", set, {"batch.global_batch_size=1"}).norms().at(0);
  ASSERT_GT(one, 0);
  EXPECT_NEAR(good_run(folder, "many", set).norms().at(0), one, 1e-5 * one);
  for (int stage : {1, 3})
    EXPECT_NEAR(good_run(folder, "data", set, layout(4, 1, 1, stage)).norms().at(0), one, 1e-5 * one)
        << stage;
}

TEST(C15_PaddedVocabulary, StaysAMatterOfTheRun) {
  const Folder folder;
  const Set set = {"training.steps=10", "checkpoint.interval=5"};
  const Outcome straight = good_run(folder, "straight", set);
  const Set saving = {"training.steps=5", "checkpoint.interval=5", "parallel.tensor=2",
                      "parallel.vocab_padding_multiple=128"};
  for (const Set& family : {Set{}, kLlama}) {
    const Outcome saved = good_run(folder, "saved", saving, family);
    int of_vocabulary = 0;
    const stored::Manifest manifest = read_manifest(saved.checkpoint(5));
    for (const stored::Tensor& tensor : manifest.tensors()) {
      EXPECT_NE(tensor.shape(0), 512) << tensor.name();
      if (tensor.kind() == stored::WEIGHT && tensor.shape(0) == 257) {
        EXPECT_EQ(tensor.shape(1), 32);
        ++of_vocabulary;
      }
    }
    EXPECT_EQ(of_vocabulary, family.empty() ? 1 : 2);
    std::filesystem::remove_all(saved.folder);
  }
  const Outcome saved = good_run(folder, "saved", saving);
  for (int tensor : {1, 2, 4})
    for (int multiple : {1, 128}) {
      const Outcome resumed = good_run(folder, "resumed", set,
                                       {fmt::format("parallel.tensor={}", tensor),
                                        fmt::format("parallel.vocab_padding_multiple={}", multiple),
                                        "checkpoint.resume_from=" + saved.checkpoint(5).string()});
      ASSERT_EQ(resumed.steps.size(), 5u);
      for (size_t i = 0; i < 5; ++i)
        EXPECT_NEAR(resumed.losses()[i], straight.losses()[5 + i], 1e-4 * straight.losses()[5 + i]);
      expect_close_weights(straight.checkpoint(10), resumed.checkpoint(10), 1e-4,
                           fmt::format("tensor {} multiple {}", tensor, multiple));
      std::filesystem::remove_all(resumed.folder);
    }
}

}  // namespace
}  // namespace octant::runs
