// Where ranks run: threads chosen by the cores that the process may use, nothing pinned, oversubscription
// named once.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/train/run.h"
#include "train/setup.h"

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

int cores_of_this_thread() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

TEST(C57_Placement, ThreadsAreChosenByTheUsableCores) {
  const Folder folder;
  const Job chosen = job(folder, "run", {"training.steps=1", "device.threads_per_rank=0"});
  const int cores = usable_cores();
  EXPECT_EQ(threads_per_rank(chosen, 1), cores);
  EXPECT_EQ(threads_per_rank(chosen, cores), 1);
  EXPECT_EQ(threads_per_rank(chosen, 64), 1);
  EXPECT_EQ(threads_per_rank(job(folder, "run", {"training.steps=1", "device.threads_per_rank=3"}), 64), 3);
  const OneCore narrowed;
  EXPECT_EQ(usable_cores(), 1);
  EXPECT_EQ(threads_per_rank(chosen, 1), 1);
}

TEST(C57_Placement, RanksAreNotPinnedAndForeignThreadCountsDoNotCount) {
  const Folder folder;
  setenv("OMP_NUM_THREADS", "64", 1);
  const int cores = cores_of_this_thread();
  std::atomic<int> narrowed{0}, threads{0};
  good_run(folder, "run", {"training.steps=2", "device.threads_per_rank=2"}, layout(2, 1, 1, 1),
           {.at_end = [&](World& world) {
             if (cores_of_this_thread() != cores) ++narrowed;
             threads += world.device().ops().threads();
           }});
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(narrowed, 0);
  EXPECT_EQ(threads, 4);
}

TEST(C58_Oversubscription, IsNamedOnce) {
  const Folder folder;
  const OneCore narrowed;
  const Outcome outcome = good_run(folder, "run", {"training.steps=2"}, layout(2, 2, 1, 1));
  const size_t first = outcome.output.find("share 1 core");
  ASSERT_NE(first, std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("share 1 core", first + 1), std::string::npos);
  const Job plain = job(folder, "run", {"training.steps=1"});
  EXPECT_TRUE(placement_notices(plain, 1, false).empty());
  if (sysconf(_SC_NPROCESSORS_ONLN) == 1) return;  // nothing to be bound to
  // Processes that a launcher has bound to a core each are not oversubscribed; two threads on one core are.
  EXPECT_TRUE(placement_notices(plain, 2, true).empty());
  EXPECT_EQ(placement_notices(job(folder, "run", {"training.steps=1", "device.threads_per_rank=2"}), 2, true)
                .size(),
            1u);
}

}  // namespace
}  // namespace octant::runs
