// The world that a job runs in: the ranks that mpirun started, or threads of this process.
//
//   return run_job(arguments, streams, [&](World& world, const Job& job) { train(world, job, …); });
//
// launch.transport AUTO is MPI under mpirun and THREADS otherwise. Under mpirun every process comes here, and
// only one of them speaks: the one whose rank is at fault. A job that is wrong is an error of the world too,
// since a process that left early would have the others ended by mpirun before they could say why.
#pragma once

#include <functional>

#include "launch/job_arguments.h"
#include "launch/streams.h"
#include "parallel/world.h"

namespace octant {

using JobRank = std::function<void(World& world, const Job& job)>;

// Loads and checks the job, runs `rank` on every rank of its world, prints what went wrong. Returns the exit
// code; throws for a job that is wrong in the only process there is.
int run_job(const JobArguments& arguments, Streams& streams, const JobRank& rank);

// For verbs that are one process's work: throws UserError naming the verb where mpirun has started several.
void refuse_many_processes(const char* verb);

// This process speaks for the world: rank 0, or the only process.
bool is_first_process();

}  // namespace octant
