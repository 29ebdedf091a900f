#include "train/placement.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "train/cpu_limit.h"

namespace octant {
namespace {

std::string count(int64_t number, const std::string& thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

int cores_of_mask() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

int whole_cores(double limit) {
  return static_cast<int>(std::clamp(std::ceil(limit), 1.0, double{std::numeric_limits<int>::max()}));
}

int usable(int allowed, const std::optional<double>& limit) {
  return limit ? std::min(allowed, whole_cores(*limit)) : allowed;
}

}  // namespace

int RankPlacement::usable_cores() const {
  return usable(allowed_cores, cpu_limit);
}

int RankPlacement::shared_cores() const {
  if (!bound()) return usable_cores();
  return cpu_limit ? whole_cores(*cpu_limit) : std::numeric_limits<int>::max();
}

int RankPlacement::free_cores() const {
  const int64_t busy = bound() ? threads : int64_t{ranks} * threads;
  return static_cast<int>(std::max<int64_t>(0, usable_cores() - busy));
}

bool RankPlacement::progress_thread() const {
  if (!has_peers || wanted == ProgressThread::kOff) return false;
  return wanted == ProgressThread::kOn || has_core_for_progress();
}

bool RankPlacement::has_core_for_progress() const {
  return free_cores() >= (bound() ? 1 : ranks);
}

std::string RankPlacement::threads_text() const {
  const std::string text = count(threads, "thread") + " a rank";
  if (!chosen) return text;
  return fmt::format("{} (0: {} / {}{})", text, count(usable_cores(), "usable core"), count(ranks, "rank"),
                     wanted == ProgressThread::kOn && has_peers ? ", less a progress thread" : "");
}

std::string RankPlacement::overlap_text() const {
  const int free = free_cores();
  const std::string cores = free == 0 ? "no core is free" : count(free, "core") + " free";
  if (progress_thread())
    return fmt::format("each rank's progress thread {}, {}",
                       has_core_for_progress() ? "moves bytes while the rank computes"
                                               : "takes turns with compute (device.progress_thread is ON)",
                       cores);
  return fmt::format("communication is done by the ranks' own threads when they call it, {}{}", cores,
                     wanted == ProgressThread::kOff ? "; device.progress_thread is OFF" : "");
}

std::vector<std::string> RankPlacement::notices() const {
  std::vector<std::string> lines;
  if (cpu_limit && *cpu_limit < allowed_cores)
    lines.push_back(
        fmt::format("this container may use {:.4g} of {} (control group's CPU limit): threads "
                    "beyond that are stopped for a part of every period",
                    *cpu_limit, count(allowed_cores, "core")));
  if (bound() && threads > allowed_cores)
    lines.push_back(fmt::format("this rank's {} threads may run on {} only: start mpirun with --bind-to none",
                                threads, count(allowed_cores, "core")));
  else if (int64_t{ranks} * threads > shared_cores())
    lines.push_back(
        fmt::format("{} × {} share {} of this machine: ranks take turns, and communication cannot run beside "
                    "compute",
                    count(ranks, "rank"), count(threads, "thread"), count(shared_cores(), "core")));
  if (!foreign_threads.empty() && foreign_threads != std::to_string(threads))
    lines.push_back(fmt::format(
        "OMP_NUM_THREADS={} has no effect: device.threads_per_rank decides, and each rank runs {}",
        foreign_threads, count(threads, "thread")));
  return lines;
}

RankPlacement placement_of(const Job& job, int local_ranks, bool processes) {
  RankPlacement placement;
  placement.ranks = std::max(1, local_ranks);
  placement.processes = processes;
  placement.allowed_cores = cores_of_mask();
  placement.machine_cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  placement.cpu_limit = cpu_limit();
  placement.wanted = job.device.progress_thread;
  placement.has_peers = job.parallel.ranks() > 1;
  placement.chosen = job.device.threads_per_rank == 0;
  const int for_progress = placement.wanted == ProgressThread::kOn && placement.has_peers ? 1 : 0;
  placement.threads = placement.chosen
                          ? std::max(1, placement.usable_cores() / placement.ranks - for_progress)
                          : job.device.threads_per_rank;
  if (const char* foreign = std::getenv("OMP_NUM_THREADS")) placement.foreign_threads = foreign;
  return placement;
}

int usable_cores() {
  return usable(cores_of_mask(), cpu_limit());
}

int local_ranks(const World& world) {
  return world.transport() == "threads" ? world.size() : mpi::launch().local_size;
}

std::optional<int64_t> peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    const int64_t kibibytes = std::strtoll(line.c_str() + 6, nullptr, 10);
    if (kibibytes > 0) return kibibytes * 1024;
  }
  return std::nullopt;
}

}  // namespace octant
