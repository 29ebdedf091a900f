// bench_step [--layers 12 --hidden 768 … --data 2 --tensor 2 --pipeline 2 --stage 2 …]: whole training steps
// on synthetic sequences.
//
// Prints (and with --json FILE writes) the seconds of a step, tokens/s, model FLOP/s and their share of the rate at which this very machine
// multiplies 1024 x 3072 x 768 in the same run, so that the share says what the rest of a step costs. For
// ranks on one machine.
// Model FLOPs: models/config.h, model_flops_per_token.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "bench/step/options.h"
#include "bench/step/process.h"
#include "bench/step/report.h"
#include "bench/step/training.h"
#include "core/cpu/cpu_backend.h"
#include "core/error.h"
#include "core/profiling_backend.h"
#include "job/validate.h"
#include "train/machine_rate.h"
#include "train/placement.h"

namespace octant::bench {
namespace {

void measure(World& world, const Job& job, const Options& options) {
  check_world(job, world.size());
  const Neighbourhood where{.ranks_here = world.size(), .place = world.rank(), .cores = usable_cores()};
  const auto rate = [&] { return matmul_rate(world, where, job.precision.compute, 1.0).total; };
  Machine machine;
  machine.load_before = load_average();
  const Measurement run = train(world, job, options.steps, [&] { machine.matmul_rate = rate(); });
  // Other programs come and go: the faster of two measurements is nearer to what the machine can do.
  machine.matmul_rate = std::max(machine.matmul_rate, rate());
  machine.load_after = load_average();
  if (world.rank() != 0) return;
  print_report(world, job, options, machine, run);
  if (!options.json.empty()) write_report(world, job, options, machine, run);
}

int run(int argc, char** argv) {
  Options o;
  CLI::App app("Times whole training steps on synthetic sequences.");
  app.option_defaults()->always_capture_default();
  add_options(app, o);
  CLI11_PARSE(app, argc, argv);

  std::optional<Job> job;
  try {
    job = make_job(o);
  } catch (const UserError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  const auto device = [&o](int) {
    return std::make_unique<Device>(
        std::make_unique<ProfilingBackend>(cpu::make_backend({.threads = o.threads})), 0);
  };
  const auto rank = [&](World& world) { measure(world, *job, o); };
  const WorldResult result =
      mpi::launched() ? mpi::run({}, device, rank) : threads::run(o.ranks(), {}, device, rank);
  if (result.exit_code != 0) fmt::print(stderr, "rank {}: {}\n", result.failed_rank, result.message);
  return result.exit_code;
}

}  // namespace
}  // namespace octant::bench

int main(int argc, char** argv) {
  return octant::bench::run(argc, argv);
}
