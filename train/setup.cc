#include "train/setup.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "core/cpu/cpu_backend.h"
#include "core/profiling_backend.h"

namespace octant {

int usable_cores() {
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  // A control group may grant less time than the affinity mask has cores: "max 100000" or "150000 100000".
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (file >> quota >> period && quota != "max" && period > 0)
    cores = std::min(cores, std::max(1, static_cast<int>(std::ceil(std::stod(quota) / period))));
  return std::max(1, cores);
}

int threads_per_rank(const Job& job, int local_ranks) {
  if (job.device.threads_per_rank > 0) return job.device.threads_per_rank;
  return std::max(1, usable_cores() / std::max(1, local_ranks));
}

std::vector<std::string> placement_notices(const Job& job, int local_ranks, bool processes) {
  const int threads = threads_per_rank(job, local_ranks), cores = usable_cores();
  const bool bound = processes && cores < sysconf(_SC_NPROCESSORS_ONLN);
  if (bound && threads > cores)
    return {fmt::format("this rank's {} threads may run on {} core{} only: start mpirun with --bind-to none",
                        threads, cores, cores == 1 ? "" : "s")};
  if (bound || local_ranks * threads <= cores) return {};
  return {
      fmt::format("{} ranks × {} thread{} share {} core{} of this machine: ranks take turns, and "
                  "communication cannot run beside compute",
                  local_ranks, threads, threads == 1 ? "" : "s", cores, cores == 1 ? "" : "s")};
}

DeviceFactory device_factory(const Job& job, int local_ranks, bool keeps_accounts) {
  const int threads = threads_per_rank(job, local_ranks);
  const int64_t limit = job.device.memory_limit;
  return [threads, limit, keeps_accounts](int) {
    std::unique_ptr<Backend> backend = cpu::make_backend({.threads = threads});
    if (keeps_accounts) backend = std::make_unique<ProfilingBackend>(std::move(backend));
    return std::make_unique<Device>(std::move(backend), limit);
  };
}

WorldOptions world_options(const Job& job) {
  WorldOptions options;
  options.verify_collectives = job.debug.verify_collectives;
  options.collective_timeout_seconds = job.debug.collective_timeout_seconds;
  return options;
}

}  // namespace octant
