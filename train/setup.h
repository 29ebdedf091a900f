// What a rank needs before it can train: a device of the job's kind, the options of its world.
#pragma once

#include "core/device.h"
#include "job/job.h"
#include "parallel/world.h"
#include "train/placement.h"

namespace octant {

// A factory of devices for threads::run and mpi::run. `keeps_accounts`: on a ProfilingBackend, for a profile.
DeviceFactory device_factory(const Job& job, const RankPlacement& placement, bool keeps_accounts = false);
WorldOptions world_options(const Job& job);

}  // namespace octant
