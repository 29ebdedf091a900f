#include "bench/operations/case.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "bench/operations/reasons.h"
#include "core/cpu/pair_product.h"

namespace octant::bench {

Memory::~Memory() {
  for (const auto& [data, bytes] : blocks_) ops_.free(data, bytes);
}

void* Memory::take(int64_t elements, DType dtype) {
  const int64_t bytes = elements * size_of(dtype);
  void* data = ops_.allocate(bytes);
  blocks_.emplace_back(data, bytes);
  if (dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16) {
    // Tiles of one block of random numbers: speed does not see the repetition.
    constexpr int64_t kTile = 1 << 16;
    float* tile = static_cast<float*>(ops_.allocate(kTile * 4));
    ops_.normal_fill({}, {.n = kTile, .key = blocks_.size(), .standard_deviation = 0.5f, .out = tile});
    for (int64_t at = 0; at < elements; at += kTile) {
      ops_.cast({}, {.n = std::min(kTile, elements - at),
                     .in = tile,
                     .out = static_cast<std::byte*>(data) + at * size_of(dtype),
                     .out_dtype = dtype});
    }
    ops_.free(tile, kTile * 4);
  } else {
    ops_.set_zero({}, data, bytes);
  }
  return data;
}

void add_case(Backend& ops, const Limits& limits, const std::string& name, const Work& work,
              const std::vector<DType>& types, const Setup& setup) {
  for (DType dtype : types) {
    benchmark::RegisterBenchmark(
        (name + "/" + std::string(name_of(dtype))).c_str(),
        [=, &ops](benchmark::State& state) {
          Memory memory(ops);
          const Run run = setup(ops, memory, dtype);
          run();
          double seconds = 0;
          int64_t runs = 0;
          for (auto _ : state) {
            const auto start = std::chrono::steady_clock::now();
            run();
            seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            ++runs;
          }
          const double each = seconds / static_cast<double>(runs);
          if (work.flops > 0) {
            const bool in_bf16 =
                dtype == DType::kBF16 && (cpu::uses_pair_instruction() || !name.starts_with("attention"));
            const double limit = in_bf16 ? limits.bf16_flops : limits.f32_flops;
            state.counters["GFLOP/s"] = work.flops / each * 1e-9;
            state.counters["share"] = work.flops / each / limit;
          } else {
            const double bytes = work.bytes_f32 + work.elements * static_cast<double>(size_of(dtype));
            state.counters["GB/s"] = bytes / each * 1e-9;
            state.counters["share"] = bytes / each / limits.bytes;
          }
          if (state.counters["share"] < kReasonBelow) state.SetLabel(reason_of(name));
        })
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime();
  }
}

}  // namespace octant::bench
