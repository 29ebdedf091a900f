// A command as a child with a process group of its own: its output in files, its end, and signals to it.
//
//   Process run({"octant", "train", "job.pbtxt"}, {.directory = folder});
//   run.signal(SIGTERM);
//   const Ended ended = run.wait();              // killed, with code -1, when it has not ended in time
//   EXPECT_EQ(ended.code, 75) << ended.text();
//
// The calling process adopts what its children leave behind, so that left_processes() sees every one of them.
// One thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace octant::faults {

// Far beyond what any run here needs: only a hang meets it.
inline constexpr double kLimitSeconds = 60;

struct Ended {
  int code = -1;  // of exit, or 128 + n for signal n, as a shell says it; -1: had to be killed
  std::string out, err;
  std::string text() const;  // everything, for a failed expectation
};

struct Surroundings {
  std::filesystem::path directory;           // working directory
  std::vector<std::string> unset;            // variables that the command does not have
  std::function<void()> in_child = nullptr;  // limits and dispositions, before exec
};

class Process {
 public:
  Process(const std::vector<std::string>& command, const Surroundings& surroundings);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  bool running();
  void signal(int number) const;
  Ended wait(double limit_seconds = kLimitSeconds);

 private:
  bool reap(bool block);

  pid_t id_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::filesystem::path captured_;
};

// Waits until `condition` holds; false when `run` ends, or the limit passes, before it does.
bool wait_until(Process& run, const std::function<bool()>& condition, double limit_seconds = kLimitSeconds);

// The children of a process whose command line holds `part`, in order of their ids (rank order under mpirun).
std::vector<pid_t> children_of(pid_t parent, const std::string& part);
void kill_with_children(pid_t parent);
// Processor seconds that a process has used.
double processor_seconds(pid_t id);

// Command lines of processes that earlier commands left behind; they get a few seconds to end, and are killed
// then.
std::vector<std::string> left_processes();

}  // namespace octant::faults
