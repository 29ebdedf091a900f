// Checkpoints that a kill, a full disk or a lost file has met: never half loaded, and the last complete one
// always serves.
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/faults/job.h"

namespace octant::faults {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public Faults {
 protected:
  Ended verify(const fs::path& checkpoint) const {
    return run(octant({"checkpoint", "verify", checkpoint.string()}));
  }
  fs::path newest() const {
    char name[32];
    std::snprintf(name, sizeof(name), "step_%08d", static_cast<int>(saved_step()));
    return folder() / "out" / "checkpoints" / name;
  }
  bool any_unfinished() const {
    for (const auto& entry : fs::directory_iterator(folder() / "out" / "checkpoints"))
      if (entry.path().extension() == ".tmp") return true;
    return false;
  }
};

class C16_KilledWhileSaving : public Checkpoints, public testing::WithParamInterface<Ranks> {};

TEST_P(C16_KilledWhileSaving, AlwaysGoesOnFromACompleteOne) {
  const Ranks kind = GetParam();
  const Set layout = {"parallel.data=2", "zero_optimization.stage=1"};
  const Set saving = {"parallel.data=2", "zero_optimization.stage=1", "checkpoint.interval=1",
                      "checkpoint.keep=2"};
  Set endless = saving;
  endless.push_back("training.steps=1000000");
  std::mt19937 moments(20240229);
  const int kills = kind == Ranks::kThreads ? 8 : 4;
  for (int round = 0; round < kills; ++round) {
    const int64_t before = saved_step();
    const auto job = start(endless, kind);
    ASSERT_TRUE(wait_until(*job, [&] { return saved_step() > before; })) << job->wait().text();
    std::this_thread::sleep_for(std::chrono::microseconds(moments() % 60000));
    kill_with_children(job->id());
    EXPECT_EQ(job->wait().code, 128 + SIGKILL);
    ASSERT_GT(saved_step(), before);
    const Ended sound = verify(newest());
    EXPECT_EQ(sound.code, 0) << sound.text();
  }
  const int64_t steps = saved_step() + 3;
  Set rest = saving;
  rest.push_back("training.steps=" + std::to_string(steps));
  const Ended ended = train(rest, kind);
  ASSERT_EQ(ended.code, 0) << ended.text();
  EXPECT_EQ(saved_step(), steps);
  EXPECT_FALSE(any_unfinished()) << "what a killed run left half saved is still there";
  expect_undisturbed_curve(layout, steps);
}

INSTANTIATE_TEST_SUITE_P(On, C16_KilledWhileSaving, testing::Values(Ranks::kThreads, Ranks::kMpi),
                         [](const auto& test) {
                           return std::string(test.param == Ranks::kThreads ? "Threads" : "Mpi");
                         });

TEST_F(Checkpoints, C16_TruncatedNewestIsPassedOver) {
  const Set set = {"parallel.data=2", "checkpoint.interval=2", "checkpoint.keep=0"};
  ASSERT_EQ(train(set).code, 0);
  const fs::path damaged = folder() / "out/checkpoints/step_00000006/rank_00001.safetensors";
  fs::resize_file(damaged, fs::file_size(damaged) - 1);
  Set more = set;
  more.push_back("training.steps=8");
  const Ended ended = train(more);
  ASSERT_EQ(ended.code, 0) << ended.text();
  EXPECT_NE(ended.out.find("step_00000006"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("rank_00001.safetensors"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("step 5/8"), std::string::npos) << ended.out;
  expect_undisturbed_curve({"parallel.data=2"}, 8);
}

TEST_F(Checkpoints, C22_LostShardIsNamedBeforeAnyStep) {
  const Set set = {"parallel.data=4", "zero_optimization.stage=1", "checkpoint.interval=6"};
  ASSERT_EQ(train(set).code, 0);
  const fs::path checkpoint = newest();
  fs::remove(checkpoint / "rank_00002.safetensors");
  for (const Ranks kind : {Ranks::kThreads, Ranks::kMpi}) {
    Set again = set;
    again.push_back("checkpoint.resume_from=" + checkpoint.string());
    again.push_back("training.steps=8");
    const Ended ended = train(again, kind, 4);
    expect_message(ended, 3, {"rank_00002.safetensors"});
    EXPECT_EQ(ended.err.find("rank_00001.safetensors"), std::string::npos) << ended.err;
    EXPECT_EQ(ended.out.find("step "), std::string::npos) << ended.out;
  }
  Set required = set;
  required.push_back("checkpoint.resume=REQUIRED");
  expect_message(train(required), 3, {"rank_00002.safetensors"});
  const Ended verdict = verify(checkpoint);
  expect_message(verdict, 3, {"step_00000006"});
  EXPECT_NE(verdict.out.find("rank_00002.safetensors"), std::string::npos) << verdict.text();
}

class FullDisk : public Checkpoints {
 protected:
  const Set set_ = {"parallel.data=2", "checkpoint.interval=1", "checkpoint.keep=0"};
  // What is there stays good.
  void expect_intact_and_goes_on(const Ended& ended, const std::string& reason) {
    expect_message(ended, 3, {"out/checkpoints", reason});
    EXPECT_FALSE(any_unfinished());
    const int64_t saved = saved_step();
    ASSERT_GE(saved, 1) << ended.text();
    EXPECT_EQ(verify(newest()).code, 0);
  }
};

TEST_F(FullDisk, SmallFileSystem) {
  const fs::path disk = folder() / "out" / "checkpoints";
  fs::create_directories(disk);
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", disk.c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "no right to mount a file system";
  const Ended ended = train(set_);
  expect_intact_and_goes_on(ended, "No space left");
  ASSERT_EQ(::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
  const Ended again = train(set_);
  EXPECT_EQ(again.code, 0) << again.text();
  expect_undisturbed_curve({"parallel.data=2"}, 6);
  ::umount2(disk.c_str(), MNT_DETACH);
}

TEST_F(FullDisk, NoRoomForTheMetrics) {
  const fs::path disk = folder() / "out";
  fs::create_directories(disk);
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "no right to mount a file system";
  const Ended ended = train({"parallel.data=2", "training.steps=1000000"});
  expect_message(ended, 3, {"out/metrics.jsonl", "No space left"});
  ::umount2(disk.c_str(), MNT_DETACH);
}

TEST_F(FullDisk, FilesMayNotGrow) {
  Set two = set_;
  two.push_back("training.steps=2");
  ASSERT_EQ(train(two).code, 0);
  Surroundings surroundings = here();
  surroundings.in_child = [] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  };
  const Ended ended = Process(train_command(set_, Ranks::kThreads, 1), surroundings).wait();
  expect_intact_and_goes_on(ended, "File too large");
  EXPECT_EQ(saved_step(), 2);
  const Ended again = train(set_);
  EXPECT_EQ(again.code, 0) << again.text();
  expect_undisturbed_curve({"parallel.data=2"}, 6);
}

}  // namespace
}  // namespace octant::faults
