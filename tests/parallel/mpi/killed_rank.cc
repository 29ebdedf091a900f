// A job whose rank 1 kills itself while the others wait for it, with a buffer that they read underway. mpirun
// must end them.
#include <csignal>

#include "core/cpu/cpu_backend.h"
#include "parallel/world.h"

int main() {
  using namespace octant;
  const auto device = [](int) { return std::make_unique<Device>(cpu::make_backend({.threads = 1}), 0); };
  return mpi::run({}, device,
                  [](World& world) {
                    world.communicator().barrier().wait();
                    const Tensor x =
                        world.device().allocate_zeroed({1 << 22}, DType::kF32, MemoryKind::kGradients);
                    Work sum = world.communicator().all_reduce(x, {});
                    if (world.rank() == 1) std::raise(SIGKILL);
                    sum.wait();
                    world.communicator().barrier().wait();
                  })
      .exit_code;
}
