// Splits an operation over OpenMP threads, the caller included.
//
//   parallel_for(threads, n, kElementGrain, [&](int64_t begin, int64_t end) { … });
//
// The cut depends on n and the number of threads alone; callers make sure that no result depends on it. `f`
// must not throw.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace octant::cpu {

// Fewer elements than this are not worth waking a thread for.
inline constexpr int64_t kElementGrain = 16384;

inline int64_t row_grain(int64_t columns) {
  return std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, columns));
}

// f(begin, end) for the pieces of [0, n).
template <typename F>
void parallel_for(int threads, int64_t n, int64_t grain, F&& f) {
  const int64_t parts = std::min<int64_t>(threads, (n + grain - 1) / grain);
  if (parts <= 1) {
    if (n > 0) f(int64_t{0}, n);
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(parts))
  for (int64_t part = 0; part < parts; ++part) f(n * part / parts, n * (part + 1) / parts);
}

// f(task, worker) for every task of [0, tasks); each worker takes the next one that is left, so the long ones
// should come first. worker < threads names a piece of scratch memory.
template <typename F>
void parallel_tasks(int threads, int64_t tasks, F&& f) {
  const int64_t workers = std::min<int64_t>(threads, tasks);
  if (workers <= 1) {
    for (int64_t task = 0; task < tasks; ++task) f(task, int64_t{0});
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast <int>(workers))
  for (int64_t task = 0; task < tasks; ++task) f(task, static_cast<int64_t>(omp_get_thread_num()));
}

}  // namespace octant::cpu
