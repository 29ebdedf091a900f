#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "bench/operations/cases.h"

namespace octant::bench {
namespace {

constexpr int64_t kTokens = 1024, kHidden = 768, kFfn = 3072;

// Fastest of a few runs, in seconds.
double best_time(const std::function<void()>& run) {
  run();
  double best = INFINITY;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double library_matmul_rate(dnnl::memory::data_type type) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto desc = [&](int64_t rows, int64_t cols) {
    return dnnl::memory::desc({rows, cols}, type, dnnl::memory::dims{cols, 1});
  };
  // Weights as layers have them, [out, in].
  const dnnl::memory::desc weights({kHidden, kFfn}, type, dnnl::memory::dims{1, kHidden});
  dnnl::memory a(desc(kTokens, kHidden), engine), b(weights, engine), c(desc(kTokens, kFfn), engine);
  for (const dnnl::memory* memory : {&a, &b, &c})
    std::memset(memory->get_data_handle(), 0, memory->get_desc().get_size());
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a.get_desc(), b.get_desc(), c.get_desc()),
                                                 engine);
  const dnnl::matmul matmul(description);
  const double seconds = best_time([&] {
    matmul.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
  });
  return 2.0 * kTokens * kHidden * kFfn / seconds;
}

double copy_rate(int threads) {
  constexpr int64_t kBytes = 256 << 20;
  std::vector<char> from(kBytes, 1), to(kBytes, 2);
  const double seconds = best_time([&] {
#pragma omp parallel for num_threads(threads)
    for (int part = 0; part < threads; ++part) {
      const int64_t begin = kBytes * part / threads, end = kBytes * (part + 1) / threads;
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
    }
  });
  return 2.0 * kBytes / seconds;
}

}  // namespace

Limits measure_limits(int threads) {
  omp_set_num_threads(threads);
  return {.f32_flops = library_matmul_rate(dnnl::memory::data_type::f32),
          .bf16_flops = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core
                            ? library_matmul_rate(dnnl::memory::data_type::bf16)
                            : library_matmul_rate(dnnl::memory::data_type::f32),
          .bytes = copy_rate(threads)};
}

}  // namespace octant::bench
