// The same test bodies on both transports.
//
//   TEST(Collectives, Barrier) {
//     for_each_world({1, 2, 3}, [](World& world) { world.communicator().barrier().wait(); });
//   }
//
// Built plainly, for_each_world runs the body on worlds of so many threads, one after the other. Built as
// test_parallel_mpi it runs it once, on the ranks that mpirun started, if their number is among those asked
// for. Expectations inside a body count on every rank.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <memory>

#include "core/cpu/cpu_backend.h"
#include "parallel/world.h"

namespace octant {

inline std::unique_ptr<Device> make_test_device(int /*rank*/) {
  return std::make_unique<Device>(cpu::make_backend({.threads = 1}), 0);
}

// Runs the body on a world of `size` ranks: on threads always, on mpi only if that is the size of the job
// (else returns an untouched result and ran = false).
struct Ran {
  bool ran = false;
  WorldResult result;
};
inline Ran run_world(int size, const WorldOptions& options, const RankFunction& body) {
#ifdef OCTANT_TEST_MPI
  if (mpi::launch().size != size) return {};
  return {true, mpi::run(options, make_test_device, body)};
#else
  return {true, threads::run(size, options, make_test_device, body)};
#endif
}

inline void for_each_world(std::initializer_list<int> sizes, const RankFunction& body,
                           WorldOptions options = {}) {
  if (options.collective_timeout_seconds == 600) options.collective_timeout_seconds = 60;
  bool ran = false;
  for (const int size : sizes) {
    SCOPED_TRACE(testing::Message() << size << " ranks");
    const Ran world = run_world(size, options, body);
    EXPECT_EQ(world.result.exit_code, 0)
        << "rank " << world.result.failed_rank << ": " << world.result.message;
    ran = ran || world.ran;
  }
  if (!ran) GTEST_SKIP() << "not for a job of " << mpi::launch().size << " ranks";
}

}  // namespace octant
