// C47: surroundings as a container gives them: root, two cores, no HOME, a working directory that cannot be
// written, little shared memory.
#include <sched.h>
#include <sys/mount.h>

#include "tests/faults/job.h"

namespace octant::faults {
namespace {

namespace fs = std::filesystem;

class C47_Container : public Faults {
 protected:
  static bool own_mounts() {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }
};

TEST_F(C47_Container, EightRanksWithoutHomeInAReadOnlyDirectory) {
  const fs::path output = fs::path(folder().string() + "_output");
  const fs::path work = folder() / "work";
  fs::create_directories(work);
  for (const char* name : {"job.pbtxt", "corpus.txt"}) fs::copy_file(folder() / name, work / name);
  if (!own_mounts() || ::mount(work.c_str(), work.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      ::mount("none", work.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
    GTEST_SKIP() << "no right to make a directory read-only for root";
  const Set set = {"parallel={data:2 tensor:2 pipeline:2}", "output_dir=" + output.string(),
                   "checkpoint.interval=3"};
  const Ended ended =
      Process(train_command(set, Ranks::kMpi, 8), {.directory = work, .unset = {"HOME"}, .in_child = nullptr})
          .wait();
  EXPECT_EQ(ended.code, 0) << ended.text();
  EXPECT_EQ(messages_in(ended.err), 0) << ended.err;
  // The default output_dir is where nothing can be made.
  expect_message(Process(train_command({"parallel.data=2"}, Ranks::kThreads, 2),
                         {.directory = work, .unset = {"HOME"}, .in_child = nullptr})
                     .wait(),
                 3, {"output_dir", "out", "Read-only"});
  ::umount2(work.c_str(), MNT_DETACH);
  fs::remove_all(output);
}

TEST_F(C47_Container, LittleSharedMemory) {
  if (!own_mounts() || ::mount("none", "/dev/shm", "tmpfs", 0, "size=8m") != 0)
    GTEST_SKIP() << "no right to mount a file system";
  const Ended ended = train({"parallel={data:2 tensor:2}"}, Ranks::kMpi, 4);
  ::umount2("/dev/shm", MNT_DETACH);
  EXPECT_TRUE(ended.code == 0 || ended.text().find("/dev/shm") != std::string::npos) << ended.text();
}

}  // namespace
}  // namespace octant::faults
