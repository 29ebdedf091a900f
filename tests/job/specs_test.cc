// Every file of bad/ is refused for the reasons that its first lines name, every file of good/ is accepted.
// To add a case, add a file:
//   # expect: a part of the message (several lines: all of them)
//   # at: line:column of an error, from 1
//   # errors: how many there are, if it matters
//   # set: path.to.field=value
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "test_specs.h"

namespace octant {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(std::string(OCTANT_SOURCE_DIR) + "/tests/job/" + folder))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// Values of `# key: value` lines; in JSON, which has no comments, they stand in FILE.json.expect beside it.
std::vector<std::string> remarks(const std::string& path, const std::string& key) {
  const std::string beside = path + ".expect";
  std::ifstream file(fs::exists(beside) ? beside : path);
  std::vector<std::string> values;
  const std::string prefix = "# " + key + ": ";
  for (std::string line; std::getline(file, line);)
    if (line.rfind(prefix, 0) == 0) values.push_back(line.substr(prefix.size()));
  return values;
}

Validation run(const std::string& path) {
  return validate(load_spec(path, remarks(path, "set")));
}

TEST(BadSpecs, EachIsRefusedForItsReason) {
  const auto files = files_of("bad");
  ASSERT_GT(files.size(), 20u);
  for (const std::string& path : files) {
    if (path.ends_with(".expect")) continue;
    SCOPED_TRACE(path);
    const Validation result = run(path);
    const std::string message = format_errors(result.errors);
    EXPECT_FALSE(result.job.has_value());
    EXPECT_FALSE(result.errors.empty());
    const auto expected = remarks(path, "expect");
    EXPECT_FALSE(expected.empty()) << "a bad spec says what it expects";
    for (const std::string& part : expected)
      EXPECT_NE(message.find(part), std::string::npos) << part << "\nin\n" << message;
    for (const std::string& at : remarks(path, "at"))
      EXPECT_NE(message.find(path + ":" + at + ": "), std::string::npos) << at << "\nin\n" << message;
    for (const std::string& count : remarks(path, "errors"))
      EXPECT_EQ(result.errors.size(), std::stoul(count)) << message;
  }
}

TEST(GoodSpecs, EachIsAccepted) {
  const auto files = files_of("good");
  ASSERT_FALSE(files.empty());
  for (const std::string& path : files) {
    SCOPED_TRACE(path);
    const Validation result = run(path);
    EXPECT_TRUE(result.job.has_value()) << format_errors(result.errors);
  }
}

TEST(GoodSpecs, TheEffectiveSpecIsTheSameJob) {
  for (const std::string& path : files_of("good")) {
    SCOPED_TRACE(path);
    const Validation first = run(path);
    ASSERT_TRUE(first.job.has_value());
    const std::string text = effective_spec_text(*first.job);
    const Validation second = validate(parse_spec_text(text, "effective.pbtxt"));
    ASSERT_TRUE(second.job.has_value()) << format_errors(second.errors) << text;
    EXPECT_EQ(effective_spec_text(*second.job), text);
    EXPECT_EQ(second.job->parallel.pipeline_layers, first.job->parallel.pipeline_layers);
    EXPECT_EQ(second.job->checkpoint.dir, first.job->checkpoint.dir);
    EXPECT_EQ(parameter_count(second.job->model), parameter_count(first.job->model));
    EXPECT_EQ(second.job->model.norm_epsilon, first.job->model.norm_epsilon);
  }
}

}  // namespace
}  // namespace octant
