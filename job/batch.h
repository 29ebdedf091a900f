// Batch arithmetic: global_batch_size = micro_batch_size × gradient_accumulation_steps × parallel.data.
//
//   BatchResult r = solve_batch({.global = 32, .micro = 4}, /*data=*/2);   // r.plan->accumulation == 4
//
// A pure function: any one missing number is derived from the others. Only the global batch given:
// accumulation 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octant {

struct BatchPlan {
  int64_t global = 0;        // samples of one optimizer step
  int64_t micro = 0;         // samples of one forward pass of one data rank
  int64_t accumulation = 0;  // micro-batches of one step of one data rank
};

// What was given; each number that is present is at least 1.
struct BatchRequest {
  std::optional<int64_t> global = std::nullopt;
  std::optional<int64_t> micro = std::nullopt;
  std::optional<int64_t> accumulation = std::nullopt;
};

struct BatchResult {
  std::optional<BatchPlan> plan;
  std::string rule;                // why there is no plan, with all named values
  std::string fix;                 // the nearest settings that work
  std::vector<std::string> notes;  // one line for each number that was derived
};

BatchResult solve_batch(const BatchRequest& request, int64_t data);

}  // namespace octant
