// Runs the suite on the ranks that mpirun started: rank 0 compares and prints, any failure is the job's.
#include <gtest/gtest.h>

#include "parallel/world.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (octant::mpi::launch().rank != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  return RUN_ALL_TESTS();
}
