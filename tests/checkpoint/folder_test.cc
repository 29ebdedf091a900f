#include "checkpoint/folder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/inspect.h"
#include "core/error.h"
#include "tests/checkpoint/simulated_job.h"
#include "tests/checkpoint/temp_folder.h"

namespace octant {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Folder, Names) {
  EXPECT_EQ(checkpoint_name(100), "step_00000100");
  EXPECT_EQ(step_of_checkpoint_name("step_00000100"), 100);
  EXPECT_EQ(step_of_checkpoint_name(checkpoint_name(12345678901)), 12345678901);
  for (const char* foreign : {"step_5000", "step_0000010x", "step_", "Step_00000100", "step_00000100.tmp",
                              "step_-0000100", "step_000000100", "step_99999999999999999999", "", "latest"})
    EXPECT_EQ(step_of_checkpoint_name(foreign), std::nullopt) << foreign;
}

TEST(Folder, SortsByNumber) {
  TempFolder temp;
  for (int64_t step : {100000000, 9, 99999999, 10}) save_simulated(temp.path(), step, {1, 1, 1});
  std::vector<int64_t> steps;
  for (const FoundCheckpoint& found : find_checkpoints(temp.path())) {
    EXPECT_TRUE(found.complete()) << found.fault;
    steps.push_back(found.step);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{9, 10, 99999999, 100000000}));
  EXPECT_EQ(newest_checkpoint(temp.path()).found->step, 100000000);
}

TEST(Folder, NoDirectoryHoldsNoCheckpoint) {
  TempFolder temp;
  EXPECT_FALSE(newest_checkpoint(temp.path() / "none").found);
  EXPECT_EQ(read_latest(temp.path() / "none"), std::nullopt);
}

// The newest complete one wins, and every newer one is named with its reason.
TEST(C16_Torn, FallsBackAndSaysWhy) {
  struct Damage {
    const char* what;
    void (*apply)(const fs::path&);
    const char* said;
  };
  const Damage damages[] = {
      {"cut by a byte",
       [](const fs::path& f) {
         fs::resize_file(f / "rank_00001.safetensors", fs::file_size(f / "rank_00001.safetensors") - 1);
       },
       "rank_00001.safetensors"},
      {"longer by a byte",
       [](const fs::path& f) {
         fs::resize_file(f / "rank_00001.safetensors", fs::file_size(f / "rank_00001.safetensors") + 1);
       },
       "rank_00001.safetensors"},
      {"file removed", [](const fs::path& f) { fs::remove(f / "rank_00000.safetensors"); },
       "rank_00000.safetensors"},
      {"no manifest", [](const fs::path& f) { fs::remove(f / "manifest.pb"); }, "manifest.pb"},
      {"manifest cut",
       [](const fs::path& f) { fs::resize_file(f / "manifest.pb", fs::file_size(f / "manifest.pb") / 2); },
       "manifest.pb"},
      {"manifest empty", [](const fs::path& f) { fs::resize_file(f / "manifest.pb", 0); }, "manifest.pb"},
      {"manifest flipped",
       [](const fs::path& f) { flip_byte(f / "manifest.pb", fs::file_size(f / "manifest.pb") / 2); },
       "manifest.pb"},
      {"renamed from another step",
       [](const fs::path& f) {
         fs::remove_all(f);
         fs::copy(f.parent_path() / "step_00000010", f, fs::copy_options::recursive);
       },
       "its manifest is of step 10"}};
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    TempFolder temp;
    save_simulated(temp.path(), 9, {2, 1, 1});
    save_simulated(temp.path(), 10, {2, 1, 1});
    const auto newest = save_simulated(temp.path(), 11, {2, 1, 1});
    damage.apply(newest);
    fs::create_directory(temp.path() / "step_00000012.tmp");
    const NewestCheckpoint found = newest_checkpoint(temp.path());
    ASSERT_TRUE(found.found);
    EXPECT_EQ(found.found->step, 10);
    ASSERT_EQ(found.skipped.size(), 1u);
    EXPECT_EQ(found.skipped[0].step, 11);
    expect_says(found.skipped[0].fault, {damage.said});
    EXPECT_THROW(CheckpointReader{newest}, DataError);
    EXPECT_TRUE(verify_checkpoint(temp.path() / "step_00000010").ok());
  }
}

// Every shorter manifest is refused: none of them passes for one with fewer tensors.
TEST(C16_Torn, AManifestCutAnywhereIsRefused) {
  TempFolder temp;
  const auto folder = save_simulated(temp.path(), 1, {1, 1, 1});
  const std::string content = file_content(folder / "manifest.pb");
  for (size_t length = 0; length < content.size(); ++length)
    EXPECT_THROW(parse_manifest(std::string_view(content).substr(0, length), "m"), DataError) << length;
  EXPECT_NO_THROW(parse_manifest(content, "m"));
}

TEST(C18_Retention, i_KeepsTheNewestByNumber) {
  TempFolder temp;
  for (int64_t step : {8, 9, 10, 11}) save_simulated(temp.path(), step, {2, 1, 1}, 2);
  EXPECT_EQ(names_in(temp.path()), (std::vector<std::string>{"latest", "step_00000010", "step_00000011"}));
  EXPECT_EQ(read_latest(temp.path()), "step_00000011");
}

TEST(C18_Retention, ii_ForeignFoldersAreNeitherCountedNorTouched) {
  TempFolder temp;
  fs::create_directories(temp.path() / "step_5000" / "inside");
  fs::create_directories(temp.path() / "step_00005000");  // our form of name, but nothing in it
  put_file(temp.path() / "step_00000007", "a file");
  for (int64_t step : {8, 9, 10}) save_simulated(temp.path(), step, {1, 1, 1}, 2);
  EXPECT_EQ(names_in(temp.path()), (std::vector<std::string>{"latest", "step_00000007", "step_00000009",
                                                             "step_00000010", "step_00005000", "step_5000"}));
  EXPECT_EQ(newest_checkpoint(temp.path()).found->step, 10);
}

TEST(C18_Retention, ii_LaterStepsOfAnotherBranchDoNotPushOutNewOnes) {
  TempFolder temp;
  save_simulated(temp.path(), 5000, {1, 1, 1});
  for (int64_t step : {8, 9, 10}) save_simulated(temp.path(), step, {1, 1, 1}, 2);
  EXPECT_EQ(names_in(temp.path()),
            (std::vector<std::string>{"latest", "step_00000009", "step_00000010", "step_00005000"}));
}

TEST(Retention, KeepLargerThanWhatIsThereDeletesNothing) {
  TempFolder temp;
  for (int64_t step : {1, 2}) save_simulated(temp.path(), step, {1, 1, 1});
  EXPECT_TRUE(apply_retention(temp.path(), 2, 7).empty());
  EXPECT_TRUE(apply_retention(temp.path(), 3, 1).empty());   // step 3 is not there: nothing may go
  EXPECT_EQ(apply_retention(temp.path(), 2, 0).size(), 1u);  // at least the newest stays
  EXPECT_TRUE(fs::exists(temp.path() / "step_00000002"));
}

TEST(Folder, DeadSavesAreRemovedAndNothingElse) {
  TempFolder temp;
  save_simulated(temp.path(), 1, {1, 1, 1});
  for (const char* name : {"step_00000002.tmp", "step_2.tmp", "other.tmp"})
    fs::create_directory(temp.path() / name);
  EXPECT_EQ(remove_dead_saves(temp.path()), (std::vector<fs::path>{temp.path() / "step_00000002.tmp"}));
  EXPECT_EQ(names_in(temp.path()),
            (std::vector<std::string>{"latest", "other.tmp", "step_00000001", "step_2.tmp"}));
}

}  // namespace
}  // namespace octant
