// Where ranks run: threads chosen by the cores that the process may use, nothing pinned, and what a person
// should know about it told once.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/train/run.h"
#include "train/cpu_limit.h"
#include "train/placement.h"

namespace octant::runs {
namespace {

// Narrows this process to one core for as long as it lives.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &before_)) {
        CPU_SET(core, &one);
        break;
      }
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_;
};

class ForeignThreads {
 public:
  explicit ForeignThreads(const char* text) {
    if (const char* before = std::getenv("OMP_NUM_THREADS")) before_ = before;
    setenv("OMP_NUM_THREADS", text, 1);
  }
  ~ForeignThreads() {
    if (before_) setenv("OMP_NUM_THREADS", before_->c_str(), 1);
    if (!before_) unsetenv("OMP_NUM_THREADS");
  }

 private:
  std::optional<std::string> before_;
};

int times(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

int cores_of_this_thread() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

TEST(C57_Placement, ThreadsAreChosenByTheUsableCores) {
  const Folder folder;
  const Job chosen = job(folder, "run", {"training.steps=1", "device.threads_per_rank=0"});
  const int cores = usable_cores();
  const auto threads = [](const Job& of, int ranks) { return placement_of(of, ranks, false).threads; };
  EXPECT_EQ(threads(chosen, 1), cores);
  EXPECT_EQ(threads(chosen, cores), 1);
  EXPECT_EQ(threads(chosen, 64), 1);
  EXPECT_EQ(threads(job(folder, "run", {"training.steps=1", "device.threads_per_rank=3"}), 64), 3);
  const OneCore narrowed;
  EXPECT_EQ(usable_cores(), 1);
  EXPECT_EQ(threads(chosen, 1), 1);
}

TEST(C57_Placement, RanksAreNotPinnedAndForeignThreadCountsDoNotCount) {
  const Folder folder;
  const Set set = {"training.steps=2", "device.threads_per_rank=2"};
  const Outcome alone = good_run(folder, "alone", set, layout(2, 1, 1, 1));
  const ForeignThreads foreign("7");
  const int cores = cores_of_this_thread();
  std::atomic<int> narrowed{0}, threads{0};
  const Outcome outcome = good_run(folder, "run", set, layout(2, 1, 1, 1), {.at_end = [&](World& world) {
                                     if (cores_of_this_thread() != cores) ++narrowed;
                                     threads += world.device().ops().threads();
                                   }});
  EXPECT_EQ(narrowed, 0);
  EXPECT_EQ(threads, 4);
  EXPECT_EQ(times(outcome.output, "note: OMP_NUM_THREADS=7 has no effect"), 1) << outcome.output;
  EXPECT_TRUE(outcome.printed("threads_per_rank"));
  expect_same_steps(alone, outcome, "another OMP_NUM_THREADS");
  EXPECT_EQ(outcome.summary["threads_per_rank"], 2);
}

TEST(C57_Placement, OnlyAForeignThreadCountThatDiffersIsNamed) {
  RankPlacement placement{.allowed_cores = 4, .machine_cores = 4};
  for (const char* silent : {"", "1"}) {
    placement.foreign_threads = silent;
    EXPECT_TRUE(placement.notices().empty()) << silent;
  }
  for (const char* named : {"7", "4,2", "many"}) {
    placement.foreign_threads = named;
    ASSERT_EQ(placement.notices().size(), 1u) << named;
    EXPECT_NE(placement.notices()[0].find(named), std::string::npos);
  }
}

TEST(C57_Placement, SaysWhatItChoseAndWhy) {
  const RankPlacement chosen{
      .ranks = 1, .threads = 2, .chosen = true, .allowed_cores = 2, .machine_cores = 2};
  EXPECT_EQ(chosen.threads_text(), "2 threads a rank (0: 2 usable cores / 1 rank)");
  const RankPlacement limited{.ranks = 3, .threads = 1, .chosen = true, .allowed_cores = 8, .cpu_limit = 3.2};
  EXPECT_EQ(limited.threads_text(), "1 thread a rank (0: 4 usable cores / 3 ranks)");
  EXPECT_EQ(RankPlacement{.threads = 5}.threads_text(), "5 threads a rank");
  const Folder folder;
  const Outcome outcome = good_run(folder, "run", {"training.steps=1", "device.threads_per_rank=0"});
  const std::string cores = std::to_string(usable_cores());
  EXPECT_TRUE(outcome.printed("(0: " + cores + " usable core")) << outcome.output;
  EXPECT_EQ(outcome.summary["usable_cores"], usable_cores());
  EXPECT_EQ(outcome.summary["threads_per_rank"], usable_cores());
  EXPECT_EQ(outcome.summary["instruction_set"], outcome.summary["device"]["vector code"]);
  EXPECT_TRUE(outcome.summary["instruction_set"].is_string());
}

TEST(C57_Placement, SaysWhoCommunicatesAndOnWhichCores) {
  const auto idle = [](const RankPlacement& placement) { return placement.overlap_text(); };
  EXPECT_NE(idle({.ranks = 2, .threads = 3, .allowed_cores = 6}).find("no core is free"), std::string::npos);
  EXPECT_NE(idle({.ranks = 5, .threads = 3, .allowed_cores = 6}).find("no core is free"), std::string::npos);
  EXPECT_NE(idle({.ranks = 2, .threads = 3, .allowed_cores = 7}).find("1 core free"), std::string::npos);
  EXPECT_NE(idle({.ranks = 2, .threads = 3, .allowed_cores = 16, .cpu_limit = 8.5}).find("3 cores free"),
            std::string::npos);
  const Folder folder;
  EXPECT_TRUE(good_run(folder, "run", {"training.steps=1"}, layout(2, 1, 1, 1)).printed("overlap"));
  EXPECT_FALSE(good_run(folder, "one", {"training.steps=1"}).printed("communication is done"));
}

TEST(C58_Oversubscription, IsNamedOnce) {
  const Folder folder;
  const OneCore narrowed;
  const Outcome outcome = good_run(folder, "run", {"training.steps=2"}, layout(2, 2, 1, 1));
  EXPECT_EQ(times(outcome.output, "share 1 core"), 1) << outcome.output;
  EXPECT_TRUE(outcome.printed("no core is free"));
}

TEST(C58_Oversubscription, ProcessesBoundToCoresOfTheirOwnDoNotShareThem) {
  const auto notices = [](const RankPlacement& placement) { return placement.notices().size(); };
  const RankPlacement bound{.ranks = 2, .processes = true, .allowed_cores = 1, .machine_cores = 8};
  EXPECT_EQ(notices(bound), 0u);
  RankPlacement narrow = bound;
  narrow.threads = 2;
  ASSERT_EQ(notices(narrow), 1u);
  EXPECT_NE(narrow.notices()[0].find("--bind-to none"), std::string::npos);
  RankPlacement threads = bound;
  threads.processes = false;
  ASSERT_EQ(notices(threads), 1u);
  EXPECT_NE(threads.notices()[0].find("2 ranks × 1 thread share 1 core"), std::string::npos);
}

TEST(C58_Oversubscription, AContainersLimitIsSharedByItsRanks) {
  RankPlacement placement{.ranks = 2, .allowed_cores = 8, .machine_cores = 8, .cpu_limit = 1.5};
  EXPECT_EQ(placement.usable_cores(), 2);
  ASSERT_EQ(placement.notices().size(), 1u);
  EXPECT_NE(placement.notices()[0].find("this container may use 1.5 of 8 cores"), std::string::npos);
  // Unbound or bound, three ranks are too many for it.
  placement.ranks = 3;
  EXPECT_EQ(placement.notices().size(), 2u);
  placement.processes = true;
  EXPECT_EQ(placement.notices().size(), 2u);
  placement.allowed_cores = 4;
  ASSERT_EQ(placement.notices().size(), 2u);
  EXPECT_NE(placement.notices()[1].find("3 ranks × 1 thread share 2 cores"), std::string::npos);
  placement.cpu_limit = 4.0;
  EXPECT_TRUE(placement.notices().empty());
}

// Control groups as files in a folder.
class C57_CpuLimit : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::filesystem::path folder(const std::string& name) const { return folder_ / name; }
  std::optional<double> limit() const {
    return cpu_limit({.membership = folder_ / "membership", .root = folder_ / "groups"});
  }

 private:
  Folder folder_;
};

TEST_F(C57_CpuLimit, IsNoneWhereNothingSaysSo) {
  EXPECT_EQ(limit(), std::nullopt);
  write("membership", "0::/a/b\n3:cpu,cpuacct:/c\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("groups/cpu.max", "max 100000\n");
  write("groups/a/b/cpu.max", "max 100000\n");
  write("groups/cpu/cpu.cfs_quota_us", "-1\n");
  write("groups/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(C57_CpuLimit, OfVersionTwo) {
  write("groups/cpu.max", "150000 100000\n");
  EXPECT_EQ(limit(), 1.5);
  EXPECT_EQ((RankPlacement{.allowed_cores = 8, .cpu_limit = limit()}.usable_cores()), 2);
  write("groups/cpu.max", "25000 50000");
  EXPECT_EQ(limit(), 0.5);
  EXPECT_EQ((RankPlacement{.allowed_cores = 8, .cpu_limit = limit()}.usable_cores()), 1);
  write("groups/cpu.max", "9000000000000000000 1");
  EXPECT_EQ((RankPlacement{.allowed_cores = 8, .cpu_limit = limit()}.usable_cores()), 8);
}

TEST_F(C57_CpuLimit, OfAnyGroupAroundTheProcess) {
  write("membership", "0::/outer/middle/inner\n");
  write("groups/outer/cpu.max", "700000 100000");
  write("groups/outer/middle/inner/cpu.max", "500000 100000");
  EXPECT_EQ(limit(), 5.0);
  write("groups/outer/middle/cpu.max", "300000 100000");
  EXPECT_EQ(limit(), 3.0);
  write("groups/outer/sibling/cpu.max", "100000 100000");
  EXPECT_EQ(limit(), 3.0);
  write("groups/outer/cpu.max", "200000 100000");
  EXPECT_EQ(limit(), 2.0);
  write("membership", "0::/../../elsewhere\n");
  write("elsewhere/cpu.max", "100000 100000");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(C57_CpuLimit, OfVersionOneAlone) {
  write("membership", "12:memory:/m\n4:cpu,cpuacct:/docker/ab:cd\n1:cpuset:/s\nno colons\n:\n");
  write("groups/cpu,cpuacct/cpu.cfs_quota_us", "450000\n");
  write("groups/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 4.5);
  write("groups/cpu,cpuacct/docker/ab:cd/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(limit(), 4.5);  // half a limit is none
  write("groups/cpu,cpuacct/docker/ab:cd/cpu.cfs_period_us", "20000\n");
  EXPECT_EQ(limit(), 2.5);
  write("groups/memory/m/cpu.cfs_quota_us", "10000\n");
  write("groups/memory/m/cpu.cfs_period_us", "20000\n");
  EXPECT_EQ(limit(), 2.5);
}

TEST_F(C57_CpuLimit, OfBothVersionsBesideEachOther) {
  write("membership", "1:cpu:/v1\n0::/v2\n");
  write("groups/cpu/v1/cpu.cfs_quota_us", "600000");
  write("groups/cpu/v1/cpu.cfs_period_us", "100000");
  EXPECT_EQ(limit(), 6.0);
  write("groups/unified/v2/cpu.max", "400000 100000");
  EXPECT_EQ(limit(), 4.0);
}

TEST_F(C57_CpuLimit, TextThatIsNoLimitIsIgnored) {
  for (const char* text :
       {"", " \n", "max", "150000", "150000 0", "150000 -100000", "-150000 100000", "0 100000", "fast 100000",
        "150000x 100000", "150000 100000 100000", "0x10 1", "1e5 100000", "nan 1", "inf 1", "+5 1",
        "99999999999999999999 100000", "150000 99999999999999999999"}) {
    write("groups/cpu.max", text);
    EXPECT_EQ(limit(), std::nullopt) << text;
    write("groups/cpu/cpu.cfs_quota_us", text);
    write("groups/cpu/cpu.cfs_period_us", "");
    EXPECT_EQ(limit(), std::nullopt) << text;
  }
  std::filesystem::create_directories(folder("groups/unified/cpu.max"));
  EXPECT_EQ(limit(), std::nullopt);
}

}  // namespace
}  // namespace octant::runs
