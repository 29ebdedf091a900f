// A run that is asked to stop: the step is finished and saved, and the next start gives the losses of a run
// that was never stopped.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/faults/job.h"

namespace octant::faults {
namespace {

constexpr int kStopped = 75;

class Stops : public Faults {
 protected:
  // Far more steps than anyone waits for.
  const Set endless_ = {"training.steps=1000000"};
  const Set saving_ = {"checkpoint.interval=1000000"};

  static Set joined(const Set& a, const Set& b) {
    Set all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
  }
  // Goes on from where the run stopped, four steps further.
  void expect_goes_on(const Set& layout, Ranks kind, int ranks) const {
    const int64_t steps = std::max<int64_t>(saved_step(), 0) + 4;
    const Ended ended =
        train(joined(joined(layout, saving_), {"training.steps=" + std::to_string(steps)}), kind, ranks);
    ASSERT_EQ(ended.code, 0) << ended.text();
    expect_undisturbed_curve(layout, steps);
  }
};

TEST_F(Stops, C50_ThreadsOnEitherSignal) {
  const Set layout = {"parallel={data:2 pipeline:2}", "zero_optimization.stage=1"};
  for (const int number : {SIGTERM, SIGINT}) {
    std::filesystem::remove_all(folder() / "out");
    std::filesystem::remove_all(folder() / "undisturbed");
    const auto job = start(joined(joined(layout, saving_), endless_));
    ASSERT_TRUE(wait_until(*job, [&] { return steps_done() >= 3; })) << job->wait().text();
    job->signal(number);
    expect_message(job->wait(), kStopped, {"signal " + std::to_string(number), "checkpoint is saved"});
    EXPECT_EQ(saved_step(), steps_done()) << "the checkpoint is of the last step";
    expect_goes_on(layout, Ranks::kThreads, 4);
  }
}

// A scheduler may tell one process only: all agree on the step.
TEST_F(Stops, C50_OneRankUnderMpirun) {
  const Set layout = {"parallel={data:2 tensor:2}", "zero_optimization.stage=1"};
  const auto job = start(joined(joined(layout, saving_), endless_), Ranks::kMpi, 4);
  ASSERT_TRUE(wait_until(*job, [&] { return steps_done() >= 3; })) << job->wait().text();
  const std::vector<pid_t> ranks = children_of(job->id(), "train");
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[2], SIGTERM);
  expect_message(job->wait(), kStopped, {"checkpoint is saved"});
  EXPECT_EQ(saved_step(), steps_done());
  expect_goes_on(layout, Ranks::kMpi, 4);
}

// mpirun passes its own SIGTERM on after odls_base_sigkill_timeout seconds, kills after as many more, and
// reads no output meanwhile.
TEST_F(Stops, C50_Mpirun) {
  const Set layout = {"parallel={data:2}"};
  std::vector<std::string> command = mpirun(2);
  command.insert(command.end(),
                 {"--mca", "odls_base_sigkill_timeout", "3", "sh", "-c", "exec \"$@\" >> ranks.txt", "sh"});
  const std::vector<std::string> trained =
      train_command(joined(joined(layout, saving_), endless_), Ranks::kThreads, 1);
  command.insert(command.end(), trained.begin(), trained.end());
  Process job(command, here());
  ASSERT_TRUE(wait_until(job, [&] { return steps_done() >= 3; })) << job.wait().text();
  job.signal(SIGTERM);
  const Ended ended = job.wait();
  EXPECT_GT(ended.code, 0) << ended.text();
  EXPECT_GE(saved_step(), 3) << ended.text();
  EXPECT_EQ(saved_step(), steps_done());
  expect_goes_on(layout, Ranks::kMpi, 2);
}

TEST_F(Stops, WithoutCheckpointsTheSignalIsTheCode) {
  for (const Ranks kind : {Ranks::kThreads, Ranks::kMpi})
    for (const int number : {SIGTERM, SIGINT}) {
      const auto job = start(joined({"parallel.data=2"}, endless_), kind);
      ASSERT_TRUE(wait_until(*job, [&] { return steps_done() >= 1; })) << job->wait().text();
      if (kind == Ranks::kThreads) {
        job->signal(number);
      } else {
        // The one that speaks has it too, and can say which signal it was.
        const std::vector<pid_t> ranks = children_of(job->id(), "train");
        for (const pid_t rank : ranks) ::kill(rank, number);
      }
      expect_message(job->wait(), 128 + number, {"signal " + std::to_string(number), "nothing is saved"});
      std::filesystem::remove_all(folder() / "out");
    }
}

// Whatever part of a step it meets: all ranks stop after the same one.
TEST_F(Stops, C50_InEvaluationAndSave) {
  const Set layout = {"parallel={data:2 tensor:2}", "zero_optimization.stage=1"};
  const Set busy = {"checkpoint.interval=1", "training.eval_interval=1", "data.validation_fraction=0.2"};
  for (int round = 0; round < 6; ++round) {
    const int64_t before = saved_step();
    const auto job = start(joined(joined(layout, busy), endless_));
    ASSERT_TRUE(wait_until(*job, [&] { return saved_step() > before; })) << job->wait().text();
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * round));
    job->signal(SIGTERM);
    expect_message(job->wait(), kStopped, {"checkpoint is saved"});
    EXPECT_GT(saved_step(), before);
  }
}

// Both wait for the process when it goes on: the second may not wait for the step that the first lets it
// finish.
TEST_F(Stops, SecondSignalEndsAtOnce) {
  const Set layout = {"parallel.data=2"};
  const auto job = start(joined(joined(layout, {"checkpoint.interval=5"}), endless_));
  ASSERT_TRUE(wait_until(*job, [&] { return saved_step() >= 5; })) << job->wait().text();
  job->signal(SIGSTOP);
  job->signal(SIGTERM);
  job->signal(SIGINT);
  job->signal(SIGCONT);
  const Ended ended = job->wait();
  EXPECT_TRUE(ended.code == 128 + SIGTERM || ended.code == 128 + SIGINT) << ended.text();
  ASSERT_GE(saved_step(), 5);
  expect_goes_on(layout, Ranks::kThreads, 2);
}

// Whatever it was doing: it ends soon, leaves nothing half done, and can be started again.
TEST_F(Stops, C50_InStartUp) {
  const Set layout = {"parallel.data=2"};
  for (int round = 0; round < 8; ++round) {
    std::filesystem::remove_all(folder() / "out");
    const auto job = start(joined(joined(layout, saving_), endless_));
    std::this_thread::sleep_for(std::chrono::milliseconds(round * round));
    job->signal(SIGTERM);
    const Ended ended = job->wait();
    EXPECT_TRUE(ended.code == kStopped || ended.code == 128 + SIGTERM) << ended.text();
    EXPECT_EQ(ended.code == kStopped, saved_step() >= 0) << ended.text();
  }
  expect_goes_on(layout, Ranks::kThreads, 2);
}

}  // namespace
}  // namespace octant::faults
