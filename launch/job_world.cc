#include "launch/job_world.h"

#include <fmt/format.h>

#include "core/cpu/cpu_backend.h"
#include "core/error.h"
#include "job/validate.h"
#include "launch/exit_codes.h"
#include "train/setup.h"

namespace octant {
namespace {

// The ranks that this job will have, and whether they are processes.
bool is_over_mpi(const Job& job) {
  if (job.transport == TransportKind::kAuto) return mpi::launched();
  return job.transport == TransportKind::kMpi;
}

Job load_for_this_world(const JobArguments& arguments) {
  const mpi::Launch launch = mpi::launch();
  const std::optional<int> started = mpi::launched() ? std::optional(launch.size) : std::nullopt;
  Job job = load_job(arguments, started);
  if (is_over_mpi(job)) {
    check_world(job, launch.size);
  } else if (launch.size > 1) {
    throw UserError(
        fmt::format("launch.transport=THREADS: one process holds the whole world, and mpirun has started {}; "
                    "use AUTO or MPI, or start it without mpirun",
                    launch.size));
  }
  return job;
}

// Messages of the environment say where it happened; what is wrong with the job is wrong on every rank.
std::string message_of(const WorldResult& result, int size) {
  const auto code = static_cast<ExitCode>(result.exit_code);
  const bool everywhere = code == ExitCode::kUsage || code == ExitCode::kDiverged;
  if (everywhere || size == 1 || result.failed_rank < 0) return result.message;
  return fmt::format("rank {} of {}: {}", result.failed_rank, size, result.message);
}

int report(const WorldResult& result, int size, Streams& streams) {
  if (result.exit_code == 0) return 0;
  return fail(streams, result.exit_code, message_of(result, size));
}

DeviceFactory smallest_device() {
  return [](int) { return std::make_unique<Device>(cpu::make_backend({.threads = 1}), 0); };
}

int run_over_mpi(const std::optional<Job>& job, const std::exception_ptr& error, bool keeps_accounts,
                 Streams& streams, const JobRank& rank) {
  const mpi::Launch launch = mpi::launch();
  auto options = job ? world_options(*job) : WorldOptions{};
  options.last_words = [&](const WorldResult& result) {
    if (launch.rank == result.failed_rank) report(result, launch.size, streams);
  };
  const auto device = job ? device_factory(*job, placement_of(*job, launch.local_size, true), keeps_accounts)
                          : smallest_device();
  const WorldResult result = mpi::run(options, device, [&](World& world) {
    if (error) std::rethrow_exception(error);
    rank(world, *job);
  });
  const bool speaks = launch.rank == std::max(result.failed_rank, 0);
  return speaks ? report(result, launch.size, streams) : result.exit_code;
}

}  // namespace

int run_job(const JobArguments& arguments, Streams& streams, const JobRank& rank) {
  const bool keeps_accounts = arguments.profile_steps > 0;
  std::optional<Job> job;
  std::exception_ptr error;
  try {
    job = load_for_this_world(arguments);
  } catch (...) {
    error = std::current_exception();
  }
  if (mpi::launch().size > 1 || (job && is_over_mpi(*job)))
    return run_over_mpi(job, error, keeps_accounts, streams, rank);
  if (error) std::rethrow_exception(error);
  const int size = job->parallel.ranks();
  return report(threads::run(size, world_options(*job),
                             device_factory(*job, placement_of(*job, size, false), keeps_accounts),
                             [&](World& world) { rank(world, *job); }),
                size, streams);
}

void refuse_many_processes(const char* verb) {
  if (const int size = mpi::launch().size; size > 1)
    throw UserError(fmt::format(
        "octant {} is the work of one process, and mpirun has started {}; start it without mpirun", verb,
        size));
}

bool is_first_process() {
  return mpi::launch().rank == 0;
}

}  // namespace octant
