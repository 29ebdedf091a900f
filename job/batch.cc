#include "job/batch.h"

#include <fmt/format.h>

#include <algorithm>

namespace octant {
namespace {

// 0 if the product does not fit 64 bits.
int64_t product(int64_t a, int64_t b, int64_t c) {
  int64_t ab = 0, abc = 0;
  return __builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(ab, c, &abc) ? 0 : abc;
}

std::string setting(const BatchPlan& plan) {
  return fmt::format("global_batch_size={} micro_batch_size={} gradient_accumulation_steps={}", plan.global,
                     plan.micro, plan.accumulation);
}

// The plans nearest to what was asked for, the fewest changed numbers first.
std::string nearest_settings(int64_t global, std::optional<int64_t> micro,
                             std::optional<int64_t> accumulation, int64_t data) {
  std::vector<BatchPlan> plans;
  const auto offer = [&](int64_t m, int64_t a) {
    const int64_t g = m >= 1 && a >= 1 ? product(m, a, data) : 0;
    if (g == 0) return;
    for (const BatchPlan& p : plans)
      if (p.global == g && p.micro == m && p.accumulation == a) return;
    plans.push_back({g, m, a});
  };
  const int64_t per_rank = global / data;
  if (global % data == 0) {
    if (micro && per_rank % *micro == 0) offer(*micro, per_rank / *micro);
    if (accumulation && per_rank % *accumulation == 0) offer(per_rank / *accumulation, *accumulation);
  }
  if (micro && accumulation) offer(*micro, *accumulation);
  if (micro) {
    offer(*micro, per_rank / *micro);
    offer(*micro, per_rank / *micro + 1);
  }
  if (accumulation) {
    offer(per_rank / *accumulation, *accumulation);
    offer(per_rank / *accumulation + 1, *accumulation);
  }
  if (!micro && !accumulation) {
    offer(per_rank, 1);
    offer(per_rank + 1, 1);
  }
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(2, plans.size()); ++i)
    text += (i == 0 ? "use " : ", or ") + setting(plans[i]);
  return text;
}

}  // namespace

BatchResult solve_batch(const BatchRequest& request, int64_t data) {
  BatchResult result;
  const auto [global, micro, accumulation] = request;
  if (!global && !micro) {
    result.rule = "neither batch.global_batch_size nor batch.micro_batch_size is given";
    result.fix = fmt::format("give global_batch_size, for instance {}", 8 * data);
    return result;
  }
  const auto derived = [&](const char* name, int64_t value, const std::string& how) {
    result.notes.push_back(fmt::format("batch.{}={} ({})", name, value, how));
  };
  BatchPlan plan;
  if (!global) {
    plan.micro = *micro;
    plan.accumulation = accumulation.value_or(1);
    if (!accumulation) derived("gradient_accumulation_steps", 1, "the default without a global_batch_size");
    plan.global = product(plan.micro, plan.accumulation, data);
    if (plan.global == 0) {
      result.rule = fmt::format(
          "micro_batch_size={} × gradient_accumulation_steps={} × parallel.data={} does not fit 64 bits",
          plan.micro, plan.accumulation, data);
      result.fix = "use smaller numbers";
      return result;
    }
    derived("global_batch_size", plan.global,
            fmt::format("micro {} × accumulation {} × data {}", plan.micro, plan.accumulation, data));
    result.plan = plan;
    return result;
  }

  plan.global = *global;
  plan.accumulation = accumulation.value_or(1);
  plan.micro = micro.value_or(0);
  if (micro && accumulation) {
    const int64_t have = product(plan.micro, plan.accumulation, data);
    if (have != plan.global) {
      result.rule = fmt::format(
          "global_batch_size={} is not micro_batch_size={} × gradient_accumulation_steps={} × "
          "parallel.data={}, which is {}",
          plan.global, plan.micro, plan.accumulation, data,
          have == 0 ? "past 64 bits" : std::to_string(have));
      result.fix = nearest_settings(plan.global, micro, accumulation, data);
      return result;
    }
  } else if (micro) {
    const int64_t pass = product(plan.micro, 1, data);
    if (pass == 0 || plan.global % pass != 0) {
      result.rule =
          fmt::format("global_batch_size={} is not a multiple of micro_batch_size={} × parallel.data={}",
                      plan.global, plan.micro, data);
      result.fix = nearest_settings(plan.global, micro, accumulation, data);
      return result;
    }
    plan.accumulation = plan.global / pass;
    derived("gradient_accumulation_steps", plan.accumulation,
            fmt::format("global {} / (micro {} × data {})", plan.global, plan.micro, data));
  } else {
    const int64_t ranks = product(plan.accumulation, 1, data);
    if (ranks == 0 || plan.global % ranks != 0) {
      result.rule =
          accumulation
              ? fmt::format(
                    "global_batch_size={} is not a multiple of gradient_accumulation_steps={} × "
                    "parallel.data={}",
                    plan.global, plan.accumulation, data)
              : fmt::format("global_batch_size={} is not a multiple of parallel.data={}", plan.global, data);
      result.fix = nearest_settings(plan.global, micro, accumulation, data);
      return result;
    }
    plan.micro = plan.global / ranks;
    if (!accumulation) derived("gradient_accumulation_steps", 1, "the default without a micro_batch_size");
    derived("micro_batch_size", plan.micro,
            fmt::format("global {} / (accumulation {} × data {})", plan.global, plan.accumulation, data));
  }
  result.plan = plan;
  return result;
}

}  // namespace octant
