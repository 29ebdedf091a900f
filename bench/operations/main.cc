// bench_operations [--threads=N] [Google Benchmark's own flags]: speed of every operation and its share of
// the measured limit.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/operations/cases.h"
#include "core/cpu/cpu_backend.h"

int main(int argc, char** argv) {
  int threads = 1;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--threads=")) {
      threads = std::atoi(argument.c_str() + 10);
    } else {
      rest.push_back(argv[i]);
    }
  }
  // Later flags win, so the caller can still ask for longer times.
  std::string short_time = "--benchmark_min_time=0.05";
  rest.insert(rest.begin() + 1, short_time.data());
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 2;

  const auto backend = octant::cpu::make_backend({.threads = threads});
  for (const auto& [what, how] : backend->description()) std::printf("%-14s %s\n", what.c_str(), how.c_str());
  const octant::bench::Limits limits = octant::bench::measure_limits(threads);
  std::printf("measured limit f32 matmul %.1f GFLOP/s, bf16 matmul %.1f GFLOP/s, copy %.1f GB/s\n",
              limits.f32_flops * 1e-9, limits.bf16_flops * 1e-9, limits.bytes * 1e-9);
  octant::bench::register_cases(*backend, limits);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
