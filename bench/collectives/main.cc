// How fast the collectives move bytes, against how fast this machine copies memory.
//
//   bench_collectives 2                            two ranks as threads (any number)
//   mpirun -np 2 bench_collectives                 the same on mpi
//
// A rate counts the bytes that each rank has to send: (N-1)/N of the buffer for reduce_scatter and
// all_gather, twice that for all_reduce. Times are the slowest rank's median. The copy rate is measured with
// all ranks copying at once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "core/cpu/cpu_backend.h"
#include "parallel/world.h"

namespace {

using namespace octant;
using Clock = std::chrono::steady_clock;

// The slowest rank's median of the action's seconds, every repeat started together.
double median_seconds(World& world, int repeats, const std::function<void()>& action) {
  std::vector<double> seconds;
  for (int repeat = -2; repeat < repeats; ++repeat) {
    world.communicator().barrier().wait();
    const Clock::time_point begin = Clock::now();
    action();
    if (repeat >= 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  std::array<double, 1> median = {seconds[static_cast<size_t>(repeats / 2)]};
  world.communicator().all_reduce(median, ReduceOp::kMax);
  return median[0];
}

void measure(World& world) {
  Communicator& group = world.communicator();
  Device& device = world.device();
  const int ranks = world.size();
  constexpr int64_t kLargest = int64_t{32} << 20;

  const Tensor from = device.allocate_zeroed({kLargest / 4}, DType::kF32, MemoryKind::kWorkspace);
  const Tensor to = device.allocate_zeroed({kLargest / 4}, DType::kF32, MemoryKind::kWorkspace);
  const double copying = median_seconds(
      world, 11, [&] { device.ops().copy(device.compute(), to.data(), from.data(), kLargest); });
  const double copy_rate = kLargest / copying * 1e-9;
  if (world.rank() == 0)
    fmt::print("{} ranks on {}, copy rate {:.2f} GB/s per rank\n{:<16}{:>12}{:>12}{:>10}{:>10}\n", ranks,
               world.transport(), copy_rate, "operation", "bytes", "us", "GB/s", "of copy");

  for (const Collective operation :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather})
    for (int64_t bytes = 64; bytes <= kLargest; bytes *= 8) {
      const int64_t shard = std::max<int64_t>(1, bytes / 4 / ranks);
      const Tensor buffer = from.flat(0, std::min(shard * ranks, from.elements() / ranks * ranks));
      const int64_t count = buffer.elements() / ranks;
      const Tensor mine = to.flat(0, count);
      const ReduceScatterPiece scattered{buffer, count, count, mine, false};
      const AllGatherPiece gathered{mine, buffer, count, count};
      const auto action = [&] {
        if (operation == Collective::kAllReduce)
          group.all_reduce(buffer, {.purpose = "bench"}).wait();
        else if (operation == Collective::kReduceScatter)
          group.reduce_scatter(std::span(&scattered, 1), {.purpose = "bench"}).wait();
        else
          group.all_gather(std::span(&gathered, 1), {.purpose = "bench"}).wait();
      };
      const double seconds = median_seconds(world, bytes > (1 << 20) ? 11 : 51, action);
      const double moved = static_cast<double>(buffer.bytes()) * (ranks - 1) / ranks *
                           (operation == Collective::kAllReduce ? 2 : 1);
      const double rate = moved / seconds * 1e-9;
      if (world.rank() == 0)
        fmt::print("{:<16}{:>12}{:>12.1f}{:>10.3f}{:>9.1f}%\n", name_of(operation), buffer.bytes(),
                   seconds * 1e6, rate, 100 * rate / copy_rate);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const auto device = [](int) { return std::make_unique<Device>(cpu::make_backend({.threads = 1}), 0); };
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const WorldResult result =
      mpi::launched() ? mpi::run({}, device, measure) : threads::run(ranks, {}, device, measure);
  if (result.exit_code != 0) fmt::print(stderr, "rank {}: {}\n", result.failed_rank, result.message);
  return result.exit_code;
}
