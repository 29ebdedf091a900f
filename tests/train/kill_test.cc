// C16: the `octant` command is killed in the middle of saves; each next start goes on from a complete
// checkpoint.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "checkpoint/folder.h"
#include "checkpoint/inspect.h"
#include "job/job.h"
#include "tests/train/run.h"

namespace octant::runs {
namespace {

constexpr const char* kCommand = OCTANT_COMMAND;

// A process group of its own, silent.
pid_t start(const std::string& spec) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDWR);
  for (int stream : {0, 1, 2}) ::dup2(null, stream);
  ::execl(kCommand, kCommand, "train", spec.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

bool under_way(const std::filesystem::path& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".tmp") return true;
  return false;
}

TEST(C16_TornCheckpoint, KilledInTheMiddleOfSavesItGoesOnFromACompleteOne) {
  const Folder folder;
  const Set set = {"training.steps=12", "checkpoint.interval=1", "checkpoint.keep=2"};
  const Set cut = layout(2, 1, 1, 1);
  const Outcome straight = good_run(folder, "straight", set, cut);
  const Job settings = job(folder, "killed", set, cut);
  const std::string spec = (folder / "job.pbtxt").string();
  std::ofstream(spec) << effective_spec_text(settings);
  const std::filesystem::path checkpoints = settings.checkpoint.dir;
  int killed = 0;
  int64_t reached = 0;
  for (int round = 0; round < 5; ++round) {
    const pid_t child = start(spec);
    ASSERT_GT(child, 0);
    int status = 0;
    bool ended = false;
    // The first save of this start that is seen, and then a moment of its own in each round.
    while (!under_way(checkpoints) && !(ended = ::waitpid(child, &status, WNOHANG) == child))
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (!ended) {
      std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
      ::kill(-child, SIGKILL);
      ASSERT_EQ(::waitpid(child, &status, 0), child);
    }
    if (WIFSIGNALED(status)) {
      ++killed;
    } else {
      ASSERT_EQ(WEXITSTATUS(status), 0);
    }
    const NewestCheckpoint newest = newest_checkpoint(checkpoints);
    if (!newest.found) continue;
    EXPECT_GE(newest.found->step, reached);
    reached = newest.found->step;
    EXPECT_TRUE(verify_checkpoint(newest.found->folder).ok());
    EXPECT_TRUE(newest.skipped.empty()) << "a name without .tmp stands for a complete checkpoint";
  }
  EXPECT_GT(killed, 0);
  const Outcome last = good_run(folder, "killed", set, cut);
  EXPECT_EQ(last.result.steps, 12);
  expect_same_steps(straight, last, "after kills");
  expect_same_checkpoint(straight.checkpoint(12), last.checkpoint(12), "after kills");
  EXPECT_EQ(folders_in(checkpoints), (std::vector<std::string>{"step_00000011", "step_00000012"}));
}

}  // namespace
}  // namespace octant::runs
