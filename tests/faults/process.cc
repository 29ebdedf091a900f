#include "tests/faults/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace octant::faults {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path new_folder() {
  std::string name = (fs::temp_directory_path() / "octant_captured_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  return name;
}

std::string command_line(pid_t id) {
  std::string line = content_of("/proc/" + std::to_string(id) + "/cmdline");
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

// What follows the command's name in /proc/PID/stat: state, parent, …
std::vector<std::string> stat_fields(pid_t id) {
  const std::string stat = content_of("/proc/" + std::to_string(id) + "/stat");
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(stat.substr(end + 1));
  return {std::istream_iterator<std::string>(fields), {}};
}

std::vector<pid_t> all_children(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t id = std::stoi(name);
    const std::vector<std::string> fields = stat_fields(id);
    if (fields.size() > 1 && fields[1] == std::to_string(parent)) children.push_back(id);
  }
  std::sort(children.begin(), children.end());
  return children;
}

[[noreturn]] void become(const std::vector<std::string>& command, const Surroundings& surroundings,
                         const fs::path& captured) {
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY);
  const int out = ::open((captured / "out").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int err = ::open((captured / "err").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(nothing, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (const std::string& variable : surroundings.unset) ::unsetenv(variable.c_str());
  if (surroundings.in_child) surroundings.in_child();
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  if (::chdir(surroundings.directory.c_str()) == 0) ::execvp(arguments.front(), arguments.data());
  ::_exit(127);
}

}  // namespace

std::string Ended::text() const {
  return "exit code " + std::to_string(code) + "\nstdout:\n" + out + "\nstderr:\n" + err;
}

Process::Process(const std::vector<std::string>& command, const Surroundings& surroundings)
    : captured_(new_folder()) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  id_ = ::fork();
  if (id_ == 0) become(command, surroundings, captured_);
  if (id_ < 0) throw std::runtime_error("fork failed");
}

Process::~Process() {
  if (running()) {
    kill_with_children(id_);
    reap(true);
  }
  fs::remove_all(captured_);
}

bool Process::reap(bool block) {
  if (!ended_) ended_ = ::waitpid(id_, &status_, block ? 0 : WNOHANG) == id_;
  return ended_;
}

bool Process::running() {
  return !reap(false);
}

void Process::signal(int number) const {
  if (!ended_) ::kill(id_, number);
}

Ended Process::wait(double limit_seconds) {
  const bool ended = !wait_until(
                         *this, [] { return false; }, limit_seconds) &&
                     !running();
  if (!ended) {
    kill_with_children(id_);
    reap(true);
  }
  const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  return {
      .code = ended ? code : -1, .out = content_of(captured_ / "out"), .err = content_of(captured_ / "err")};
}

bool wait_until(Process& run, const std::function<bool()>& condition, double limit_seconds) {
  const Clock::time_point limit =
      Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(1000 * limit_seconds));
  while (!condition()) {
    if (!run.running() || Clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::vector<pid_t> children_of(pid_t parent, const std::string& part) {
  std::vector<pid_t> found;
  for (const pid_t id : all_children(parent))
    if (command_line(id).find(part) != std::string::npos) found.push_back(id);
  return found;
}

void kill_with_children(pid_t parent) {
  // Stopped first, so that it can neither start nor end any of them meanwhile.
  ::kill(parent, SIGSTOP);
  for (const pid_t id : all_children(parent)) ::kill(id, SIGKILL);
  ::kill(parent, SIGKILL);
}

double processor_seconds(pid_t id) {
  const std::vector<std::string> fields = stat_fields(id);
  if (fields.size() < 13) return 0;
  return (std::stod(fields[11]) + std::stod(fields[12])) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<std::string> left_processes() {
  std::vector<std::string> left;
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(10);
  while (true) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    const std::vector<pid_t> children = all_children(::getpid());
    if (children.empty()) return left;
    if (Clock::now() > limit) {
      for (const pid_t id : children) {
        if (left.size() < 100) left.push_back(command_line(id));
        ::kill(id, SIGKILL);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace octant::faults
