// One rank fails, and the job with it: within seconds, with one message that names the rank.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/faults/job.h"

namespace octant::faults {
namespace {

namespace fs = std::filesystem;

class RankFails : public Faults {
 protected:
  // Peak bytes by rank of a run of this job.
  std::vector<int64_t> peaks(const Set& set) const {
    Set whole = set;
    whole.push_back("output_dir=whole");
    const Ended ended = train(whole);
    EXPECT_EQ(ended.code, 0) << ended.text();
    std::ifstream file(folder() / "whole" / "summary.json");
    std::vector<int64_t> bytes;
    const nlohmann::json summary = nlohmann::json::parse(file);
    for (const auto& rank : summary["ranks"]) bytes.push_back(rank["peak_bytes"]["total"].get<int64_t>());
    return bytes;
  }
};

TEST_F(RankFails, MemoryBudgetTooSmallForAll) {
  for (const Ranks kind : {Ranks::kThreads, Ranks::kMpi}) {
    const Ended ended = train({"parallel.data=2", "device.memory_limit=64KiB"}, kind);
    expect_message(ended, 4,
                   {"device.memory_limit", "65536", "parameters", "optimizer", "activations", "limit"});
  }
}

// A budget between the needs of the two stages: one rank throws in the middle of a step, its peer waits for
// it.
TEST_F(RankFails, MemoryBudgetTooSmallForOnePipelineStage) {
  const Set set = {"parallel.pipeline=2", "parallel.pipeline_layers=[3, 1]"};
  const std::vector<int64_t> peak = peaks(set);
  ASSERT_EQ(peak.size(), 2u);
  // How long a sent buffer lives depends on its receiver, so peaks differ a little from run to run.
  ASSERT_GT(std::max(peak[0], peak[1]), std::min(peak[0], peak[1]) * 5 / 4);
  const int larger = peak[0] > peak[1] ? 0 : 1;
  Set limited = set;
  limited.push_back("device.memory_limit=\"" + std::to_string((peak[0] + peak[1]) / 2) + "\"");
  for (const Ranks kind : {Ranks::kThreads, Ranks::kMpi})
    expect_message(train(limited, kind), 4,
                   {"rank " + std::to_string(larger) + " of 2", "device.memory_limit", "activations"});
}

TEST_F(RankFails, LossThatIsNotFinite) {
  const Set set = {"parallel.data=2", "optimizer={sgd{learning_rate:1e30}}", "optimizer.clip_grad_norm=0"};
  for (const Ranks kind : {Ranks::kThreads, Ranks::kMpi})
    expect_message(train(set, kind), 6, {"step", "nan"});
}

// The second rank starts where the data is not.
TEST_F(RankFails, DataThatOneRankCannotSee) {
  fs::create_directories(folder() / "elsewhere");
  fs::copy_file(folder() / "job.pbtxt", folder() / "elsewhere" / "job.pbtxt");
  std::vector<std::string> command = mpirun(1);
  for (const std::string& word : octant({"train", "job.pbtxt", "--set", "parallel.data=2", ":", "-np", "1",
                                         "-wdir", (folder() / "elsewhere").string()}))
    command.push_back(word);
  for (const std::string& word : octant({"train", "job.pbtxt", "--set", "parallel.data=2"}))
    command.push_back(word);
  const Ended ended = run(command);
  expect_message(ended, 3, {"rank 1 of 2", "corpus.txt", "No such file"});
  EXPECT_EQ(ended.out.find("step 1"), std::string::npos) << ended.out;
}

TEST_F(RankFails, C49_KilledRankEndsTheJobAndTheNextStartGoesOn) {
  const Set set = {"parallel.data=2", "zero_optimization.stage=2", "checkpoint.interval=1"};
  int64_t saved = 0;
  for (const char* progress : {"device.progress_thread=OFF", "device.progress_thread=ON"}) {
    Set endless = set;
    endless.insert(endless.end(), {"training.steps=100000", progress});
    const int64_t before = saved;
    const auto job = start(endless, Ranks::kMpi);
    ASSERT_TRUE(wait_until(*job, [&] { return saved_step() >= before + 2; })) << job->wait().text();
    const std::vector<pid_t> ranks = children_of(job->id(), "train");
    ASSERT_EQ(ranks.size(), 2u);
    ::kill(ranks[1], SIGKILL);
    const Ended ended = job->wait();
    EXPECT_GT(ended.code, 0) << ended.text();
    EXPECT_NE(ended.err.find("signal 9"), std::string::npos) << ended.text();
    saved = saved_step();
    ASSERT_GE(saved, before + 2);
  }
  Set rest = set;
  rest.push_back("training.steps=" + std::to_string(saved + 2));
  const Ended again = train(rest, Ranks::kMpi);
  ASSERT_EQ(again.code, 0) << again.text();
  expect_undisturbed_curve({"parallel.data=2", "zero_optimization.stage=2"}, saved + 2);
}

TEST_F(RankFails, TwoRunsInOneFolder) {
  const auto first = start({"parallel.data=2", "training.steps=1000000"});
  ASSERT_TRUE(wait_until(*first, [&] { return steps_done() >= 1; }));
  for (const Ranks kind : {Ranks::kThreads, Ranks::kMpi})
    expect_message(train({"parallel.data=2"}, kind), 3, {"output_dir", "out"});
  const int64_t before = steps_done();
  EXPECT_TRUE(wait_until(*first, [&] { return steps_done() > before; })) << "the first run was disturbed";
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().code, 128 + SIGTERM);
}

// A wait costs no processor: with more ranks than cores, time that a waiting rank takes is another's.
TEST_F(RankFails, C58_WaitingRankGivesTheCoreAway) {
  const auto job = start({"parallel.data=2", "training.steps=1000000"}, Ranks::kMpi);
  ASSERT_TRUE(wait_until(*job, [&] { return steps_done() >= 3; }));
  const std::vector<pid_t> ranks = children_of(job->id(), "train");
  ASSERT_EQ(ranks.size(), 2u);
  ::kill(ranks[1], SIGSTOP);
  wait_until(
      *job, [] { return false; }, 0.3);
  const double before = processor_seconds(ranks[0]);
  wait_until(
      *job, [] { return false; }, 2);
  EXPECT_LT(processor_seconds(ranks[0]) - before, 1.0) << "of two seconds in which its peer stood still";
  ::kill(ranks[1], SIGCONT);
  const int64_t steps = steps_done();
  EXPECT_TRUE(wait_until(*job, [&] { return steps_done() > steps; }));
  ::kill(ranks[0], SIGTERM);
  const Ended ended = job->wait();
  EXPECT_EQ(ended.code, 128 + SIGTERM) << ended.text();
}

}  // namespace
}  // namespace octant::faults
