// Runs every case of tests/cli/cases; to add one, add a file (tests/cli/case.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "tests/cli/case.h"

namespace octant::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(OCTANT_SOURCE_DIR) / "tests/cli/cases"))
    if (entry.path().extension() == ".test") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

class Commands : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "octant_cli_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_P(Commands, AnswerAsTheCaseSays) {
  const Case test = read_case(GetParam());
  ASSERT_FALSE(test.statements.empty());
  for (const std::string& fault : run_case(test, folder_.string())) ADD_FAILURE() << fault;
}

std::string test_name(const testing::TestParamInfo<std::string>& of) {
  std::string name = fs::path(of.param).stem().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, Commands, testing::ValuesIn(case_files()), test_name);

// The driver must be able to find fault.
class Driver : public Commands {};

TEST_P(Driver, FindsFault) {
  const auto faults = [&](std::vector<Statement> statements) {
    return run_case({.path = "case", .statements = std::move(statements)}, folder_.string()).size();
  };
  const Statement run{1, "run", "", "echo one; echo two >&2; exit 3"};
  const Statement good{2, "exit", "", "3"};
  EXPECT_EQ(faults({run, good, {3, "stdout", "contains", "one"}, {4, "stderr", "ends", "two"}}), 0u);
  EXPECT_EQ(faults({run, {2, "exit", "", "0"}}), 1u);
  EXPECT_EQ(faults({run}), 1u) << "the exit code must be said";
  EXPECT_EQ(faults({run, good, {3, "stdout", "contains", "two"}, {4, "stderr", "empty", ""}}), 2u);
  EXPECT_EQ(faults({run,
                    good,
                    {3, "stdout", "once", "three"},
                    {4, "other.txt", "empty", ""},
                    {5, "stdout", "is", "xml"}}),
            3u);
  EXPECT_NE(xml_fault("<svg><g></svg>"), "");
  EXPECT_NE(xml_fault("<svg a=b></svg>"), "");
  EXPECT_NE(xml_fault("<svg>a & b</svg>"), "");
  EXPECT_EQ(xml_fault("<?xml version=\"1.0\"?>\n<svg a=\"1\"><g/>a &amp; b</svg>\n"), "");
}

INSTANTIATE_TEST_SUITE_P(Self, Driver, testing::Values(""));

}  // namespace
}  // namespace octant::cli
