#include "train/machine_rate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <utility>

namespace octant {
namespace {

using Clock = std::chrono::steady_clock;

struct Release {
  Backend* ops = nullptr;
  int64_t bytes = 0;
  void operator()(void* data) const { ops->free(data, bytes); }
};
using Memory = std::unique_ptr<void, Release>;

Memory allocate(Backend& ops, int64_t bytes) {
  Memory memory(ops.allocate(bytes), Release{&ops, bytes});
  ops.set_zero({}, memory.get(), bytes);
  return memory;
}

// Calls `work(count)` on the ranks that measure, once to warm up and then twice for half of `seconds` each;
// `amount` is what one call does. The faster half counts: other programs come and go.
template <typename Work>
MachineRate measure(World& world, const Neighbourhood& where, double seconds, double amount,
                    const Work& work) {
  const int at_once = std::max(1, where.cores / world.device().ops().threads());
  const bool active = where.place < std::min(at_once, where.ranks_here);
  double mine = 0;
  int count = 1;
  for (int round = 0; round < 4; ++round) {
    world.communicator().barrier().wait();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; active && i < count; ++i) work();
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    if (round >= 1 && active) mine = std::max(mine, amount * count / took);
    if (round != 1) continue;
    // All measure equally often, whoever is slower.
    std::array<double, 1> longest = {active ? took : 0.0};
    world.communicator().all_reduce(longest, ReduceOp::kMax);
    count = static_cast<int>(std::clamp(seconds / 2 / std::max(longest[0], 1e-6), 1.0, 1000.0));
  }
  std::array<double, 2> sums = {mine, active ? 1.0 : 0.0};
  world.communicator().all_reduce(sums, ReduceOp::kSum);
  return {.total = sums[0], .each = sums[0] / sums[1]};
}

}  // namespace

MachineRate matmul_rate(World& world, const Neighbourhood& where, DType dtype, double seconds) {
  constexpr int64_t M = 1024, N = 3072, K = 768;
  Backend& ops = world.device().ops();
  const int64_t size = size_of(dtype);
  const Memory a = allocate(ops, M * K * size), b = allocate(ops, N * K * size),
               c = allocate(ops, M * N * size);
  return measure(world, where, seconds, 2.0 * M * N * K, [&] {
    ops.matmul({}, {.a = {a.get(), dtype, M, K, K},
                    .b = {b.get(), dtype, N, K, K},
                    .c = {c.get(), dtype, M, N, N},
                    .transpose_b = true});
    ops.synchronize({});
  });
}

MachineRate memory_rate(World& world, const Neighbourhood& where) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  Backend& ops = world.device().ops();
  const Memory from = allocate(ops, kBytes), to = allocate(ops, kBytes);
  return measure(world, where, 0.1, 2.0 * kBytes, [&] {
    ops.copy({}, to.get(), from.get(), kBytes);
    ops.synchronize({});
  });
}

}  // namespace octant
