#include "checkpoint/writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>

#include "checkpoint/folder.h"
#include "checkpoint/inspect.h"
#include "checkpoint/safetensors.h"
#include "core/error.h"
#include "tests/checkpoint/simulated_job.h"
#include "tests/checkpoint/temp_folder.h"

namespace octant {
namespace {

namespace fs = std::filesystem;

std::string bug_of(const std::vector<std::string>& fragments) {
  try {
    combine(simulated_header(1), fragments);
  } catch (const BugError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> fragments_of(const fs::path& directory, const SimulatedLayout& layout) {
  begin_save(directory, 1);
  std::vector<std::string> fragments;
  for (int rank = 0; rank < layout.ranks(); ++rank)
    fragments.push_back(write_simulated_rank(directory, 1, layout, rank));
  return fragments;
}

TEST(Combine, DoesNotDependOnTheOrderOfArrival) {
  TempFolder temp;
  auto fragments = fragments_of(temp.path(), {3, 2, 1});
  const std::string straight = combine(simulated_header(1), fragments).SerializeAsString();
  std::reverse(fragments.begin(), fragments.end());
  EXPECT_EQ(combine(simulated_header(1), fragments).SerializeAsString(), straight);
}

TEST(Combine, AMissingRankIsFound) {
  TempFolder temp;
  auto fragments = fragments_of(temp.path(), {3, 1, 1});
  fragments.erase(fragments.begin() + 1);
  expect_says(bug_of(fragments), {"no rank brought"});
}

TEST(Combine, ReplicasAreFound) {
  TempFolder temp;
  begin_save(temp.path(), 1);
  const std::vector<float> values(6, 1.0f);
  std::vector<std::string> fragments;
  for (int rank = 0; rank < 2; ++rank) {
    const SaveEntry entry{
        "w", stored::WEIGHT, {2, 3}, {{{0, 0}, {2, 3}}, rank == 0 ? 0 : 4, 6}, values.data()};
    fragments.push_back(write_rank_file(temp.path(), 1, rank, {&entry, 1}));
  }
  expect_says(bug_of(fragments),
              {"weight 'w' 2x3", "2 elements", "[1, 1]", "rank_00000.safetensors, rank_00001.safetensors"});
}

TEST(Combine, RanksThatDisagreeAboutAShapeAreFound) {
  TempFolder temp;
  begin_save(temp.path(), 1);
  const std::vector<float> values(6, 1.0f);
  std::vector<std::string> fragments;
  for (int rank = 0; rank < 2; ++rank) {
    const Shape shape = rank == 0 ? Shape{6} : Shape{2, 3};
    const SaveEntry entry{"w", stored::WEIGHT, shape, whole(shape), values.data()};
    fragments.push_back(write_rank_file(temp.path(), 1, rank, {&entry, 1}));
  }
  expect_says(bug_of(fragments), {"weight 'w' 6", "rank_00001.safetensors gives it the shape 2x3"});
}

TEST(Writer, FilesAreOrdinarySafetensors) {
  TempFolder temp;
  const auto folder = save_simulated(temp.path(), 1, {2, 1, 1});
  const SafetensorsReader file(folder / "rank_00000.safetensors");
  ASSERT_NE(file.find("wte.weight"), nullptr);
  EXPECT_EQ(file.find("wte.weight")->shape, (std::vector<int64_t>{1542}));  // half of it, flat
  ASSERT_NE(file.find("wte.weight.exp_avg_sq"), nullptr);
  EXPECT_EQ(file.metadata().at("rank"), "0");
  const SafetensorsReader whole_file(save_simulated(temp.path(), 2, {1, 1, 1}) / "rank_00000.safetensors");
  EXPECT_EQ(whole_file.find("wte.weight")->shape, (std::vector<int64_t>{257, 12}));
}

TEST(Writer, UnsoundEntriesAreBugs) {
  TempFolder temp;
  begin_save(temp.path(), 1);
  const float value = 1;
  SaveEntry entry{"w", stored::WEIGHT, {4}, {{{0}, {4}}, 0, 5}, &value};
  EXPECT_THROW(write_rank_file(temp.path(), 1, 0, {&entry, 1}), BugError);
  entry.range.end = 4;
  entry.data = nullptr;
  EXPECT_THROW(write_rank_file(temp.path(), 1, 0, {&entry, 1}), BugError);
}

TEST(Writer, TheSameStepIsReplacedInOneMove) {
  TempFolder temp;
  save_simulated(temp.path(), 5, {1, 1, 1});
  const auto folder = save_simulated(temp.path(), 5, {4, 1, 1});
  EXPECT_EQ(read_manifest(folder).files_size(), 4);
  EXPECT_TRUE(verify_checkpoint(folder).ok());
  EXPECT_FALSE(fs::exists(temp.path() / "step_00000005.tmp"));
}

// A limit on the size of files stands for the full disk: the system refuses the write in its midst.
TEST(Writer, AFullDiskLeavesEarlierCheckpointsAndLatestAlone) {
  TempFolder temp;
  save_simulated(temp.path(), 1, {1, 1, 1});
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit tight = before;
  tight.rlim_cur = 9000;
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  std::string message = "no error";
  try {
    save_simulated(temp.path(), 2, {1, 1, 1});
  } catch (const DataError& error) {
    message = error.what();
    abort_save(temp.path(), 2);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  expect_says(message, {"step_00000002.tmp/rank_00000.safetensors", "writing failed", "File too large"});
  EXPECT_FALSE(fs::exists(temp.path() / "step_00000002.tmp"));
  EXPECT_EQ(read_latest(temp.path()), "step_00000001");
  EXPECT_TRUE(verify_checkpoint(temp.path() / "step_00000001").ok());
}

TEST(C18_Retention, iii_NothingGoesBeforeTheNewOneIsComplete) {
  TempFolder temp;
  for (int64_t step : {8, 9, 10}) save_simulated(temp.path(), step, {2, 1, 1}, 2);
  begin_save(temp.path(), 11);
  std::vector<std::string> fragments;
  for (int rank = 0; rank < 2; ++rank)
    fragments.push_back(write_simulated_rank(temp.path(), 11, {2, 1, 1}, rank));
  fs::resize_file(temp.path() / "step_00000011.tmp/rank_00001.safetensors", 100);  // the disk lost a part
  std::string message = "no error";
  try {
    commit_save(temp.path(), combine(simulated_header(11), fragments), 2);
  } catch (const DataError& error) {
    message = error.what();
  }
  expect_says(message, {"rank_00001.safetensors", "bytes expected, 100 found"});
  EXPECT_FALSE(fs::exists(temp.path() / "step_00000011.tmp"));
  EXPECT_FALSE(fs::exists(temp.path() / "step_00000011"));
  EXPECT_TRUE(verify_checkpoint(temp.path() / "step_00000009").ok());
  EXPECT_TRUE(verify_checkpoint(temp.path() / "step_00000010").ok());
  EXPECT_EQ(read_latest(temp.path()), "step_00000010");
}

TEST(Writer, AVanishedFolderIsADataError) {
  TempFolder temp;
  EXPECT_THROW(write_rank_file(temp.path(), 1, 0, {}), DataError);
  put_file(temp.path() / "file", "");
  EXPECT_THROW(begin_save(temp.path() / "file", 1), DataError);
  EXPECT_THROW(begin_save("/proc/checkpoints", 1), DataError);  // read-only even for root
}

}  // namespace
}  // namespace octant
