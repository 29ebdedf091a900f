#include "bench/step/matmul_rate.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "bench/step/agreed.h"

namespace octant::bench {

double matmul_rate(World& world, DType dtype) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t M = 1024, N = 3072, K = 768;
  constexpr int kRepeats = 6, kProducts = 8;
  Backend& ops = world.device().ops();
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int active = std::clamp(cores / ops.threads(), 1, world.size());
  // Beside the ledger, whose peak belongs to the training.
  const auto matrix = [&](int64_t rows, int64_t cols) {
    const int64_t bytes = rows * cols * size_of(dtype);
    const auto release = [&ops, bytes](void* data) { ops.free(data, bytes); };
    std::unique_ptr<void, decltype(release)> memory(ops.allocate(bytes), release);
    ops.set_zero({}, memory.get(), bytes);
    return std::pair(Matrix{memory.get(), dtype, rows, cols, cols}, std::move(memory));
  };
  const auto a = matrix(M, K), b = matrix(N, K), c = matrix(M, N);
  double best = 0;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {  // the first one warms up
    world.communicator().barrier().wait();
    const Clock::time_point begin = Clock::now();
    for (int product = 0; world.rank() < active && product < kProducts; ++product)
      ops.matmul({}, {.a = a.first, .b = b.first, .c = c.first, .transpose_b = true});
    const double seconds = largest(
        world, world.rank() < active ? std::chrono::duration<double>(Clock::now() - begin).count() : 0);
    if (repeat > 0) best = std::max(best, 2.0 * M * N * K * kProducts / seconds);
  }
  return best * active;
}

}  // namespace octant::bench
