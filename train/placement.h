// Where the ranks of a run compute: the cores that they may use, the threads that they use, and what a person
// should know about both.
//
//   const RankPlacement placement = placement_of(job, local_ranks(world), world.transport() != "threads");
//   for (const std::string& notice : placement.notices()) …
//
// Nothing is pinned: the system moves threads between the allowed cores. Reading it costs a few small files;
// called at the start of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/job.h"
#include "job/settings.h"
#include "parallel/world.h"

namespace octant {

struct RankPlacement {
  int ranks = 1;           // on this machine
  bool processes = false;  // each rank is a process, which a launcher may have bound to cores
  int threads = 1;         // of each rank, the rank's own included
  bool chosen = false;     // threads_per_rank: 0
  int allowed_cores = 1;   // of the affinity mask of this process
  int machine_cores = 1;   // that are running
  std::optional<double> cpu_limit =
      std::nullopt;                  // cores' worth of time, shared by all ranks (train/cpu_limit.h)
  std::string foreign_threads = "";  // OMP_NUM_THREADS, if set
  ProgressThread wanted = ProgressThread::kAuto;
  bool has_peers = false;  // the world has other ranks

  // Allowed cores, but no more than the limit, rounded up.
  int usable_cores() const;
  // Cores that all ranks of this machine share; without bound where each is bound to its own.
  int shared_cores() const;
  // Usable cores that no thread computes on: of this rank alone where each is bound to its own.
  int free_cores() const;
  // Whether each rank has a thread that moves bytes while it computes: as the job says, else where a core is
  // free for every one.
  bool progress_thread() const;
  // "2 threads a rank (0: 2 usable cores / 1 rank)"
  std::string threads_text() const;
  // Who communicates, and whether cores are free meanwhile.
  std::string overlap_text() const;
  // One line each: a limit below the allowed cores, more threads than cores, a process bound to fewer cores
  // than it has threads, a setting of OpenMP that has no effect.
  std::vector<std::string> notices() const;

 private:
  bool has_core_for_progress() const;
  bool bound() const { return processes && allowed_cores < machine_cores; }
};

// The worker threads of a rank are the job's, or for 0 the cores that this process may use divided by the ranks
// on this machine, less one for a progress thread that the job asks for, at least one.
RankPlacement placement_of(const Job& job, int local_ranks, bool processes);

// Cores that this process may use (affinity and control groups respected).
int usable_cores();
// Ranks on this rank's machine.
int local_ranks(const World& world);

// Largest resident memory that this process, of all its thread ranks together, has had so far; nothing where
// the system does not tell.
std::optional<int64_t> peak_resident_bytes();

}  // namespace octant
