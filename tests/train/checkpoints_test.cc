// Checkpoints that are torn, missing in part, or not writable; which are kept; and what a diverging run
// leaves.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "checkpoint/folder.h"
#include "checkpoint/inspect.h"
#include "checkpoint/manifest.h"
#include "tests/train/run.h"

namespace octant::runs {
namespace {

using Names = std::vector<std::string>;

std::filesystem::path rank_file(const std::filesystem::path& checkpoint, int rank) {
  return checkpoint / fmt::format("rank_{:05}.safetensors", rank);
}

void cut_by_one(const std::filesystem::path& path) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
}

TEST(C16_TornCheckpoint, IsPassedOverAndReplaced) {
  const Folder folder;
  const Set set = {"training.steps=8", "checkpoint.interval=2"};
  const Outcome straight = good_run(folder, "straight", set, layout(2, 1, 1, 1));
  const auto damage = [&](const std::string& name,
                          const std::function<void(const std::filesystem::path&)>& how) {
    const Outcome first =
        good_run(folder, name, set, {"training.steps=6", "parallel.data=2", "zero_optimization.stage=1"});
    how(first.checkpoint(6));
    const Outcome second = good_run(folder, name, set, layout(2, 1, 1, 1));
    EXPECT_TRUE(second.printed("passing over")) << second.output;
    EXPECT_TRUE(second.printed(first.checkpoint(6).string())) << second.output;
    EXPECT_TRUE(second.printed("step_00000004 (step 4)")) << second.output;
    expect_same_steps(straight, second, name);
    expect_same_checkpoint(straight.checkpoint(8), second.checkpoint(8), name);
    expect_same_checkpoint(straight.checkpoint(6), second.checkpoint(6), name);
    return second.output;
  };
  EXPECT_NE(damage("truncated", [](const auto& path) { cut_by_one(rank_file(path, 1)); })
                .find("rank_00001.safetensors"),
            std::string::npos);
  damage("manifest", [](const auto& path) { std::filesystem::remove(path / kManifestName); });
  damage("half manifest", [](const auto& path) { std::filesystem::resize_file(path / kManifestName, 100); });
  damage("shard", [](const auto& path) { std::filesystem::remove(rank_file(path, 0)); });
}

TEST(C16_TornCheckpoint, WhenThereIsNoOtherTheRunSaysThatItBeginsAnew) {
  const Folder folder;
  const Set set = {"training.steps=3", "checkpoint.interval=3"};
  const Outcome first = good_run(folder, "run", set);
  cut_by_one(rank_file(first.checkpoint(3), 0));
  const Outcome required = run(folder, "run", set, {"checkpoint.resume=REQUIRED"});
  EXPECT_EQ(required.exit_code, 3);
  EXPECT_NE(required.message.find("rank_00000.safetensors"), std::string::npos) << required.message;
  const Outcome named = run(folder, "run", set, {"checkpoint.resume_from=" + first.checkpoint(3).string()});
  EXPECT_EQ(named.exit_code, 3);
  EXPECT_NE(named.message.find("rank_00000.safetensors"), std::string::npos) << named.message;
  const Outcome anew = good_run(folder, "run", set);
  EXPECT_TRUE(anew.printed("passing over")) << anew.output;
  EXPECT_TRUE(anew.printed("first weights from the seed")) << anew.output;
  expect_same_steps(first, anew, "begun anew");
}

TEST(C22_MissingShard, EndsBeforeTheFirstStepAndNamesTheFile) {
  const Folder folder;
  const Set set = {"training.steps=4", "checkpoint.interval=2"};
  const Outcome saved = good_run(folder, "saved", set, layout(4, 1, 1, 1));
  std::filesystem::remove(rank_file(saved.checkpoint(2), 2));
  for (const Set& cut : {layout(4, 1, 1, 1), layout(1, 1, 1, 0), layout(1, 2, 2, 0)}) {
    const Outcome resumed =
        run(folder, "resumed", set,
            {"checkpoint.resume_from=" + saved.checkpoint(2).string(), cut[0], cut[1], cut[2], cut[3]});
    EXPECT_EQ(resumed.exit_code, 3);
    EXPECT_NE(resumed.message.find("rank_00002.safetensors"), std::string::npos) << resumed.message;
    EXPECT_EQ(resumed.message.find("rank_00001.safetensors"), std::string::npos) << resumed.message;
    EXPECT_FALSE(resumed.printed("step 3/")) << resumed.output;
    EXPECT_TRUE(resumed.steps.empty());
  }
  const VerifyReport report = verify_checkpoint(saved.checkpoint(2));
  EXPECT_FALSE(report.ok());
  EXPECT_NE(
      fmt::format("{}", report.problems.empty() ? "" : report.problems[0]).find("rank_00002.safetensors"),
      std::string::npos);
}

TEST(C18_Retention, KeepsTheNewestByNumber) {
  const Folder folder;
  const Set set = {"training.steps=11", "checkpoint.interval=1", "checkpoint.keep=2", "model.num_layers=1"};
  const Outcome eleven = good_run(folder, "run", set);
  EXPECT_EQ(folders_in(eleven.folder / "checkpoints"), (Names{"step_00000010", "step_00000011"}));
  EXPECT_EQ(read_latest(eleven.folder / "checkpoints"), "step_00000011");
}

TEST(C18_Retention, LeavesAForeignStepAloneAndDoesNotPreferIt) {
  const Folder folder;
  const Set set = {"checkpoint.interval=1", "checkpoint.keep=2", "model.num_layers=1"};
  good_run(folder, "run", set, {"training.steps=3"});
  const std::filesystem::path directory = folder / "run" / "checkpoints";
  std::filesystem::create_directories(directory / "step_5000");
  std::filesystem::create_directories(directory / "step_00005000");
  const Outcome run = good_run(folder, "run", set, {"training.steps=6"});
  EXPECT_EQ(run.steps.size(), 6u);
  EXPECT_TRUE(run.printed("step_00000003 (step 3)")) << run.output;
  EXPECT_EQ(folders_in(directory), (Names{"step_00000005", "step_00000006", "step_00005000", "step_5000"}));
}

// The size of files limited as a full disk or a quota would.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(C18_Retention, DeletesNothingWhenASaveFails) {
  const Folder folder;
  const Set set = {"checkpoint.interval=1", "checkpoint.keep=2", "model.num_layers=1"};
  const Outcome good = good_run(folder, "run", set, {"training.steps=10"});
  for (const Set& cut : {layout(1, 1, 1, 0), layout(2, 1, 1, 3)}) {
    Outcome failed;
    {
      const FileLimit limit(20'000);
      failed = run(folder, "run", set, {"training.steps=12", cut[0], cut[3]});
    }
    EXPECT_EQ(failed.exit_code, 3);
    EXPECT_NE(failed.message.find("rank_0000"), std::string::npos) << failed.message;
    EXPECT_EQ(folders_in(good.folder / "checkpoints"), (Names{"step_00000009", "step_00000010"}));
    EXPECT_EQ(incompleteness_of(good.checkpoint(10)), "");
    EXPECT_EQ(read_latest(good.folder / "checkpoints"), "step_00000010");
  }
  const Outcome later = good_run(folder, "run", set, {"training.steps=12"});
  EXPECT_EQ(later.steps.size(), 12u);
}

TEST(C18_Retention, AFileInTheWayOfTheFolderEndsTheRunCleanly) {
  const Folder folder;
  const std::string dir = (folder / "corpus.txt").string();  // a file where the folder should be
  const Outcome failed = run(folder, "run", {"checkpoint.interval=1", "checkpoint.dir=" + dir});
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_NE(failed.message.find("corpus.txt"), std::string::npos) << failed.message;
}

TEST(C18_Divergence, StopsBeforeTheUpdateAndNoCheckpointHoldsIt) {
  const Folder folder;
  const Set set = {"training.steps=8", "checkpoint.interval=1",
                   "optimizer={sgd{learning_rate: 1e25} clip_grad_norm: 0}"};
  for (const Set& cut : {layout(1, 1, 1, 0), layout(2, 1, 1, 3), layout(2, 2, 2, 2)}) {
    const Outcome diverged = run(folder, "run", set, cut);
    EXPECT_EQ(diverged.exit_code, 6);
    EXPECT_NE(diverged.message.find("step 2"), std::string::npos) << diverged.message;
    EXPECT_EQ(diverged.steps.size(), 1u);
    const Names left = folders_in(diverged.folder / "checkpoints");
    EXPECT_EQ(left, Names{"step_00000001"});
    for (const std::string& name : left)
      EXPECT_TRUE(verify_checkpoint(diverged.folder / "checkpoints" / name, {.finite = true}).ok()) << name;
    std::filesystem::remove_all(diverged.folder);
  }
}

}  // namespace
}  // namespace octant::runs
