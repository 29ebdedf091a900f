// The processor time that control groups grant this process, as a container or a batch system sets it.
//
//   const std::optional<double> cores = cpu_limit();       // 1.5: quota 150000 in every period of 100000 µs
//
// Looks at the process's own group and at every group around it, of version 2 (cpu.max) and of version 1
// (cpu.cfs_quota_us, cpu.cfs_period_us): the tightest limit counts. What is missing or cannot be read as a
// limit is no limit. Never throws.
#pragma once

#include <filesystem>
#include <optional>

namespace octant {

struct ControlGroupFiles {
  std::filesystem::path membership = "/proc/self/cgroup";  // which groups the process is in
  std::filesystem::path root = "/sys/fs/cgroup";           // where the hierarchies are mounted
};

// Cores' worth of time, above 0; nothing where no limit is set.
std::optional<double> cpu_limit(const ControlGroupFiles& files = {});

}  // namespace octant
