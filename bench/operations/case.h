// One case of the benchmark: what it runs, how much work a run is, and the memory it runs on.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/operations/cases.h"

namespace octant::bench {

// Device memory that lives as long as the registered benchmarks, all small numbers.
class Memory {
 public:
  explicit Memory(Backend& ops) : ops_(ops) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();
  void* take(int64_t elements, DType dtype);
  float* floats(int64_t elements) { return static_cast<float*>(take(elements, DType::kF32)); }

 private:
  Backend& ops_;
  std::vector<std::pair<void*, int64_t>> blocks_;
};

using Run = std::function<void()>;
using Setup = std::function<Run(Backend&, Memory&, DType)>;

// Work of one run: floating-point operations where the arithmetic limits, else bytes that must move.
struct Work {
  double flops = 0;
  double bytes_f32 = 0;  // bytes that do not shrink with the type
  double elements = 0;   // elements of the type that move
};

// Registers `name`/type for each of `types`; a result below 0.6 of its limit shows its reason.
void add_case(Backend& ops, const Limits& limits, const std::string& name, const Work& work,
              const std::vector<DType>& types, const Setup& setup);

}  // namespace octant::bench
