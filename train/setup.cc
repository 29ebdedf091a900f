#include "train/setup.h"

#include "core/cpu/cpu_backend.h"
#include "core/profiling_backend.h"

namespace octant {

DeviceFactory device_factory(const Job& job, const RankPlacement& placement, bool keeps_accounts) {
  return [threads = placement.threads, limit = job.device.memory_limit,
          has_carrier = placement.progress_thread(), keeps_accounts](int) {
    std::unique_ptr<Backend> backend = cpu::make_backend({.threads = threads});
    if (keeps_accounts) backend = std::make_unique<ProfilingBackend>(std::move(backend));
    std::unique_ptr<Backend> carrier;
    if (has_carrier) carrier = cpu::make_backend({.threads = 1});
    return std::make_unique<Device>(std::move(backend), limit, std::move(carrier));
  };
}

WorldOptions world_options(const Job& job) {
  WorldOptions options;
  options.verify_collectives = job.debug.verify_collectives;
  options.collective_timeout_seconds = job.debug.collective_timeout_seconds;
  return options;
}

}  // namespace octant
