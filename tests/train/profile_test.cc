// octant train --profile: the accounts add up, and the trace is one that a viewer reads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/train/run.h"

namespace octant::runs {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Profile, CountsTheStepsAskedForOnEveryRank) {
  const Folder folder;
  const Set grid = layout(2, 1, 2, 2);
  const Outcome run = good_run(
      folder, "run", {"training.steps=6", "training.eval_interval=1", "data.validation_fraction=0.1"}, grid,
      {.profile_steps = 3});
  EXPECT_TRUE(run.printed("profile of steps 3 to 5 of this run"));
  const std::string table = text_of(run.folder / "profile.txt");
  EXPECT_NE(table.find("rank 3 (data 1, tensor 0, pipeline 1)"), std::string::npos) << table;

  // Four linear layers in each block of rank 0's stage, in each micro-batch of each step.
  const double blocks = run.summary["ranks"][0]["layers"].get<double>();
  const Job spec = job(folder, "run", {}, grid);
  const std::string name = "matmul forward ";
  const size_t found = table.find(name);
  ASSERT_NE(found, std::string::npos) << table;
  EXPECT_EQ(std::stod(table.substr(found + name.size())), 4 * blocks * static_cast<double>(spec.batch.accumulation));

  const nlohmann::json trace = nlohmann::json::parse(text_of(run.folder / "profile.trace.json"));
  std::map<int, int> steps;
  std::map<int, double> operations, transport, whole;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const int rank = event["pid"];
    EXPECT_GE(event["dur"].get<double>(), 0);
    if (event["tid"] == 0) operations[rank] += event["dur"].get<double>();
    if (event["tid"] == 1) transport[rank] += event["dur"].get<double>();
    if (event["tid"] == 2) {
      ++steps[rank];
      whole[rank] += event["dur"].get<double>();
    }
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(steps[rank], 3);
    EXPECT_GT(operations[rank], 0);
    EXPECT_GT(transport[rank], 0) << "a pipeline waits";
    EXPECT_LE(operations[rank], whole[rank]);
  }
}

TEST(Profile, ChangesNoNumber) {
  const Folder folder;
  const Set grid = layout(2, 2, 1, 3);
  const Outcome plain = good_run(folder, "plain", {"training.steps=5"}, grid);
  const Outcome profiled = good_run(folder, "profiled", {"training.steps=5"}, grid, {.profile_steps = 2});
  EXPECT_EQ(plain.losses(), profiled.losses());
  EXPECT_EQ(plain.norms(), profiled.norms());
  EXPECT_FALSE(std::filesystem::exists(plain.folder / "profile.txt"));
}

TEST(Profile, OfARunThatEndsBeforeSaysSo) {
  const Folder folder;
  const Outcome few = good_run(folder, "few", {"training.steps=4"}, {}, {.profile_steps = 9});
  EXPECT_TRUE(few.printed("profile of steps 3 to 4 of this run (9 were asked for; the run ended before)"));
  const Outcome none = good_run(folder, "none", {"training.steps=2"}, {}, {.profile_steps = 1});
  EXPECT_TRUE(none.printed("--profile measured nothing"));
  EXPECT_FALSE(std::filesystem::exists(none.folder / "profile.txt"));
}

TEST(StepMetrics, SayWhatTheMachineWasUsedFor) {
  const Folder folder;
  const Outcome run = good_run(folder, "run", {"training.steps=3"}, layout(2, 1, 1, 1));
  for (const nlohmann::json& step : run.steps) {
    EXPECT_GT(step["share"].get<double>(), 0);
    EXPECT_GE(step["exposed_communication"].get<double>(), step["wait_seconds"].get<double>());
  }
  EXPECT_TRUE(run.printed("share"));
  EXPECT_GT(run.summary["matmul_rate"].get<double>(), 0);
  double largest = 0;
  for (const nlohmann::json& rank : run.summary["ranks"])
    largest = std::max(largest, rank["exposed_communication"].get<double>());
  EXPECT_EQ(run.summary["largest_exposed_communication"].get<double>(), largest);
}

}  // namespace
}  // namespace octant::runs
