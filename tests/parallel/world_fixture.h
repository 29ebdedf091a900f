// The same test bodies on both transports.
//
//   TEST(Collectives, Barrier) {
//     for_each_world({1, 2, 3}, [](World& world) { world.communicator().barrier().wait(); });
//   }
//
// Built plainly, for_each_world runs the body on worlds of so many threads, one after the other. Built as
// test_parallel_mpi it runs it once, on the ranks that mpirun started, if their number is among those asked
// for. Expectations inside a body count on every rank. With OCTANT_TEST_PROGRESS_THREAD in the environment
// every rank has a progress thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>

#include "core/cpu/cpu_backend.h"
#include "parallel/world.h"

namespace octant {

inline bool all_have_progress_threads() {
  return std::getenv("OCTANT_TEST_PROGRESS_THREAD") != nullptr;
}

inline DeviceFactory test_devices(bool progress_threads) {
  return [progress_threads](int) {
    std::unique_ptr<Backend> carrier;
    if (progress_threads) carrier = cpu::make_backend({.threads = 1});
    return std::make_unique<Device>(cpu::make_backend({.threads = 1}), 0, std::move(carrier));
  };
}

// Runs the body on a world of `size` ranks: on threads always, on mpi only if that is the size of the job
// (else returns an untouched result and ran = false).
struct Ran {
  bool ran = false;
  WorldResult result;
};
inline Ran run_world(int size, const WorldOptions& options, const RankFunction& body,
                     bool progress_threads = all_have_progress_threads()) {
#ifdef OCTANT_TEST_MPI
  if (mpi::launch().size != size) return {};
  return {true, mpi::run(options, test_devices(progress_threads), body)};
#else
  return {true, threads::run(size, options, test_devices(progress_threads), body)};
#endif
}

inline void for_each_world(std::initializer_list<int> sizes, const RankFunction& body,
                           WorldOptions options = {}, bool progress_threads = all_have_progress_threads()) {
  if (options.collective_timeout_seconds == 600) options.collective_timeout_seconds = 60;
  bool ran = false;
  for (const int size : sizes) {
    SCOPED_TRACE(testing::Message() << size << " ranks");
    const Ran world = run_world(size, options, body, progress_threads);
    EXPECT_EQ(world.result.exit_code, 0)
        << "rank " << world.result.failed_rank << ": " << world.result.message;
    ran = ran || world.ran;
  }
  if (!ran) GTEST_SKIP() << "not for a job of " << mpi::launch().size << " ranks";
}

inline void for_each_world_with_progress_threads(std::initializer_list<int> sizes, const RankFunction& body) {
  for_each_world(sizes, body, {}, true);
}

}  // namespace octant
