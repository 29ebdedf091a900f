// Runs the suite on the ranks that mpirun started: rank 0 prints, the others speak only of failures, and any
// failure is the job's.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "parallel/world.h"

namespace {

class FailurePrinter : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed())
      std::fprintf(stderr, "[rank %d] %s:%d: %s\n", octant::mpi::launch().rank,
                   result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (octant::mpi::launch().rank != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter);
  }
  return RUN_ALL_TESTS();
}
