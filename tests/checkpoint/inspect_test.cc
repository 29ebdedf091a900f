#include "checkpoint/inspect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checkpoint/checksum.h"
#include "core/error.h"
#include "tests/checkpoint/simulated_job.h"
#include "tests/checkpoint/temp_folder.h"

namespace octant {
namespace {

std::filesystem::path save_values(const std::filesystem::path& directory, int64_t step,
                                  const std::vector<float>& values, const std::string& name = "w") {
  begin_save(directory, step);
  const Shape shape{static_cast<int64_t>(values.size())};
  const SaveEntry entry{name, stored::WEIGHT, shape, whole(shape), values.data()};
  const std::vector<std::string> fragments{write_rank_file(directory, step, 0, {&entry, 1})};
  commit_save(directory, combine(simulated_header(step), fragments), 100);
  return directory / checkpoint_name(step);
}

TEST(Verify, CountsWhatItRead) {
  TempFolder temp;
  const VerifyReport report = verify_checkpoint(save_simulated(temp.path(), 1, {3, 2, 1}), {.finite = true});
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.tensors, static_cast<int64_t>(3 * simulated_model().size()));
  uint64_t elements = 0;
  for (const auto& tensor : simulated_model()) elements += static_cast<uint64_t>(tensor.shape.elements());
  EXPECT_EQ(report.bytes, 3 * 4 * elements);
}

TEST(Verify, AFlippedByteIsNamed) {
  TempFolder temp;
  const auto folder = save_simulated(temp.path(), 1, {2, 1, 1});
  const auto path = folder / "rank_00001.safetensors";
  flip_byte(path, std::filesystem::file_size(path) - 3);
  const VerifyReport report = verify_checkpoint(folder);
  ASSERT_EQ(report.problems.size(), 1u);
  expect_says(report.problems[0], {"rank_00001.safetensors", "wte.weight", "checksum", "expected"});
}

TEST(Verify, AFlippedHeaderIsNamed) {
  TempFolder temp;
  const auto folder = save_simulated(temp.path(), 1, {2, 1, 1});
  flip_byte(folder / "rank_00000.safetensors", 8);
  const VerifyReport report = verify_checkpoint(folder);
  ASSERT_EQ(report.problems.size(), 1u);
  expect_says(report.problems[0], {"rank_00000.safetensors", "header"});
}

TEST(C22_MissingFile, IsListedAndNothingElse) {
  TempFolder temp;
  const auto folder = save_simulated(temp.path(), 1, {4, 1, 1});
  std::filesystem::remove(folder / "rank_00002.safetensors");
  const VerifyReport report = verify_checkpoint(folder);
  ASSERT_EQ(report.problems.size(), 1u);
  expect_says(report.problems[0], {"rank_00002.safetensors", "No such file"});
  std::filesystem::remove(folder / "rank_00003.safetensors");
  try {
    CheckpointReader reader(folder);
    ADD_FAILURE() << "accepted";
  } catch (const DataError& error) {
    expect_says(error.what(), {"rank_00002.safetensors", "rank_00003.safetensors"});
    EXPECT_EQ(std::string(error.what()).find("rank_00001"), std::string::npos);
  }
}

TEST(Verify, FiniteNamesTheFirstElement) {
  TempFolder temp;
  const auto folder =
      save_values(temp.path(), 1,
                  {1, 2, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()});
  EXPECT_TRUE(verify_checkpoint(folder).ok());
  const VerifyReport report = verify_checkpoint(folder, {.finite = true});
  ASSERT_EQ(report.problems.size(), 1u);
  expect_says(report.problems[0], {"weight 'w'", "2 elements are not finite", "first at 2"});
}

TEST(Diff, ReportsTheLargestDifference) {
  TempFolder temp;
  const auto a = save_values(temp.path(), 1, {1, -4, 3, 0.0f});
  const auto b = save_values(temp.path(), 2, {1, -4, 2.5, -0.0f});
  const DiffReport diff = diff_checkpoints(a, b);
  EXPECT_FALSE(diff.same());
  ASSERT_EQ(diff.tensors.size(), 1u);
  EXPECT_EQ(diff.tensors[0].differing, 2);  // bits count: −0 is not 0
  EXPECT_DOUBLE_EQ(diff.tensors[0].max_absolute, 0.5);
  EXPECT_DOUBLE_EQ(diff.tensors[0].max_relative(), 0.125);
  expect_says(diff.text(), {"weight 'w': 2 elements differ", "0 of 1 tensors are equal"});
}

TEST(Diff, NotANumberOnOneSideIsInfinitelyFar) {
  TempFolder temp;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto a = save_values(temp.path(), 1, {1, nan}), b = save_values(temp.path(), 2, {1, 2});
  EXPECT_TRUE(std::isinf(diff_checkpoints(a, b).tensors[0].max_relative()));
  EXPECT_TRUE(diff_checkpoints(a, a).same());
}

TEST(Diff, TensorsOfOneSideAndOtherShapes) {
  TempFolder temp;
  const auto a = save_values(temp.path(), 1, {1, 2}), b = save_values(temp.path(), 2, {1, 2}, "v"),
             c = save_values(temp.path(), 3, {1, 2, 3});
  const DiffReport names = diff_checkpoints(a, b);
  ASSERT_EQ(names.tensors.size(), 2u);
  EXPECT_EQ(names.tensors[0].state, DiffState::kOnlyInSecond);
  EXPECT_EQ(names.tensors[1].state, DiffState::kOnlyInFirst);
  EXPECT_EQ(diff_checkpoints(a, c).tensors[0].state, DiffState::kOtherShape);
}

TEST(Diff, WeightsOnly) {
  TempFolder temp;
  const auto a = save_simulated(temp.path(), 1, {1, 1, 1});
  EXPECT_EQ(diff_checkpoints(a, a, {.weights_only = true}).tensors.size(), simulated_model().size());
}

// More elements than one piece, odd, so that the last is short.
TEST(Diff, StreamsLongTensors) {
  TempFolder temp;
  std::vector<float> values((size_t{1} << 20) + 3, 1.0f);
  const auto a = save_values(temp.path(), 1, values);
  values.back() = 2.0f;
  const auto b = save_values(temp.path(), 2, values);
  EXPECT_EQ(diff_checkpoints(a, b).tensors[0].differing, 1);
  EXPECT_TRUE(verify_checkpoint(b).ok());
}

TEST(Checksum, IsTheSameForEveryCut) {
  std::vector<unsigned char> bytes(301);
  for (size_t index = 0; index < bytes.size(); ++index) bytes[index] = static_cast<unsigned char>(index * 37);
  const uint64_t whole_value = checksum_of(bytes.data(), bytes.size());
  for (size_t cut = 0; cut <= bytes.size(); ++cut)
    for (size_t second = cut; second <= bytes.size(); second += 29) {
      Checksum checksum;
      checksum.update(bytes.data(), cut);
      checksum.update(bytes.data() + cut, second - cut);
      checksum.update(bytes.data() + second, bytes.size() - second);
      ASSERT_EQ(checksum.value(), whole_value);
    }
}

TEST(Checksum, SeesEveryBitAndTheLength) {
  std::vector<unsigned char> bytes(77, 0);
  const uint64_t value = checksum_of(bytes.data(), bytes.size());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<unsigned char>(1u << (bit % 8));
    EXPECT_NE(checksum_of(bytes.data(), bytes.size()), value);
    bytes[bit / 8] = 0;
  }
  EXPECT_NE(checksum_of(bytes.data(), 76), value);
  EXPECT_NE(checksum_of(bytes.data(), 0), checksum_of(bytes.data(), 1));
}

// The value is part of the file format: it may never change.
TEST(Checksum, IsFixed) {
  EXPECT_EQ(checksum_of("octant", 6), 0x93f142d5aaa0e88du);
}

}  // namespace
}  // namespace octant
