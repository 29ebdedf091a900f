#include "train/setup.h"

#include "core/cpu/cpu_backend.h"
#include "core/profiling_backend.h"
#include "train/placement.h"

namespace octant {

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
