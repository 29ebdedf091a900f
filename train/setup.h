// What a rank needs before it can train: a device of the job's kind, the loader of its data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "job/job.h"
#include "parallel/world.h"

namespace octant {

// Worker threads of a rank: the job's, or for 0 the cores that this process may use divided by the ranks on
// this machine, at least one.
int threads_per_rank(const Job& job, int local_ranks);
// Cores that this process may run on (affinity and control groups respected).
int usable_cores();

// What a person should know about where the ranks run, one line each: more threads than cores, or a process
// bound to fewer cores than it has threads. `processes`: each rank is a process of its own, which a launcher
// may have bound.
std::vector<std::string> placement_notices(const Job& job, int local_ranks, bool processes);

// A factory of devices for threads::run and mpi::run. `keeps_accounts`: on a ProfilingBackend, for a profile.
DeviceFactory device_factory(const Job& job, int local_ranks, bool keeps_accounts = false);
WorldOptions world_options(const Job& job);

}  // namespace octant
