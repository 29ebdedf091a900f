// How fast the collectives move bytes, against how fast this machine copies memory.
//
//   bench_collectives 2                            two ranks as threads (any number)
//   mpirun -np 2 bench_collectives                 the same on mpi
//   bench_collectives 2 --json figures.json        writes the figures to a file too
//
// A rate counts the bytes that each rank has to send: (N-1)/N of the buffer for reduce_scatter and
// all_gather, twice that for all_reduce. The share of a copy compares the bytes that a rank must read and
// write with the rate at which a copy of 32 MiB reads and writes, with all ranks copying at once, measured
// before and after each operation. Times are the slowest rank's median.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/cpu/cpu_backend.h"
#include "core/error.h"
#include "parallel/world.h"

namespace {

using namespace octant;
using Clock = std::chrono::steady_clock;

constexpr int64_t kLargest = int64_t{32} << 20;
constexpr std::array<int64_t, 7> kSizes = {64, 512, 4 << 10, 64 << 10, 512 << 10, 4 << 20, kLargest};

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

// Bytes that each rank must read and write when peers' buffers are read where they lie: a sum reads its piece
// from every rank and writes it, a gather reads every piece and writes it.
double memory_traffic(Collective operation, double bytes, int ranks) {
  const double piece = bytes / ranks, others = bytes - piece;
  switch (operation) {
    case Collective::kAllReduce:
      return bytes + piece + 2 * others;
    case Collective::kReduceScatter:
      return bytes + piece;
    default:
      return 2 * bytes;
  }
}

void measure(World& world, const std::string& json) {
  Communicator& group = world.communicator();
  Device& device = world.device();
  const int ranks = world.size();

  const Tensor from = device.allocate_zeroed({kLargest / 4}, DType::kF32, MemoryKind::kWorkspace);
  const Tensor to = device.allocate_zeroed({kLargest / 4}, DType::kF32, MemoryKind::kWorkspace);
  // Memory that nobody has written yet is one page of zeros, read at the speed of a cache.
  for (const Tensor& buffer : {from, to})
    std::fill_n(buffer.as<float>(), buffer.elements(), static_cast<float>(world.rank() + 1));
  const auto copying = [&] {
    return median_seconds(world, 11,
                          [&] { device.ops().copy(device.compute(), to.data(), from.data(), kLargest); });
  };
  double copy_seconds = copying();
  const double copy_rate = kLargest / copy_seconds * 1e-9;
  nlohmann::ordered_json report = {{"ranks", ranks},
                                   {"transport", world.transport()},
                                   {"copy_rate", copy_rate * 1e9},
                                   {"measurements", nlohmann::ordered_json::array()}};
  if (world.rank() == 0)
    fmt::print("{} ranks on {}, copy rate {:.2f} GB/s per rank\n{:<16}{:>12}{:>12}{:>10}{:>10}\n", ranks,
               world.transport(), copy_rate, "operation", "bytes", "us", "GB/s", "of copy");

  for (const Collective operation :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather})
    for (const int64_t bytes : kSizes) {
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
      const double copy_before = copy_seconds;
      const double seconds = median_seconds(world, bytes > (1 << 20) ? 11 : 51, action);
      copy_seconds = copying();
      const double copy_traffic = 2.0 * kLargest / (0.5 * (copy_before + copy_seconds));
      const double share =
          memory_traffic(operation, static_cast<double>(buffer.bytes()), ranks) / seconds / copy_traffic;
      const double moved = static_cast<double>(buffer.bytes()) * (ranks - 1) / ranks *
                           (operation == Collective::kAllReduce ? 2 : 1);
      const double rate = moved / seconds * 1e-9;
      if (world.rank() == 0)
        fmt::print("{:<16}{:>12}{:>12.1f}{:>10.3f}{:>9.1f}%\n", name_of(operation), buffer.bytes(),
                   seconds * 1e6, rate, 100 * share);
      report["measurements"].push_back({{"operation", name_of(operation)},
                                        {"size", bytes},
                                        {"bytes", buffer.bytes()},
                                        {"seconds", seconds},
                                        {"bytes_per_second", rate * 1e9},
                                        {"share_of_copy", share}});
    }
  if (world.rank() != 0 || json.empty()) return;
  std::ofstream file(json);
  file << report.dump(1) << "\n";
  if (!file.flush())
    throw UserError(fmt::format("cannot write the figures to {}: name a file in a folder that exists", json));
}

}  // namespace

int main(int argc, char** argv) {
  int ranks = 2;
  std::string json;
  CLI::App app("Times collectives between ranks.");
  app.option_defaults()->always_capture_default();
  app.add_option("ranks", ranks, "threads of this process; mpirun says how many otherwise")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", json, "also write the figures to this file");
  CLI11_PARSE(app, argc, argv);

  const auto device = [](int) { return std::make_unique<Device>(cpu::make_backend({.threads = 1}), 0); };
  const auto rank = [&json](World& world) { measure(world, json); };
  const WorldResult result =
      mpi::launched() ? mpi::run({}, device, rank) : threads::run(ranks, {}, device, rank);
  if (result.exit_code != 0) fmt::print(stderr, "rank {}: {}\n", result.failed_rank, result.message);
  return result.exit_code;
}
