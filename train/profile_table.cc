#include "train/profile_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace octant {
namespace {

using nlohmann::json;

// The transport's own sums and copies go through the device too; they are its time, not compute.
bool is_transport(const std::string& operation) {
  return operation == "reduce" || operation == "copy";
}

double compute_seconds(const json& rank) {
  double seconds = 0;
  for (const json& operation : rank["operations"])
    if (!is_transport(operation["name"])) seconds += operation["seconds"].get<double>();
  return seconds;
}

std::string operation_line(const json& operation, const json& rank) {
  const double steps = rank["steps"].get<double>(), seconds = operation["seconds"].get<double>();
  const double flops = operation["flops"].get<double>(), bytes = operation["bytes"].get<double>();
  std::string line = fmt::format("{:<24}{:>10.1f}{:>12.6f}{:>8.1f}%", operation["name"].get<std::string>(),
                                 operation["calls"].get<double>() / steps, seconds / steps,
                                 100 * seconds / rank["seconds"].get<double>());
  if (seconds <= 0) return line;
  if (flops > 0) {
    const double rate = flops / seconds;
    line += fmt::format("{:>10.2f}{:>10.3f}{:>12.1f} GFLOP/s{:>8.2f}", flops / steps * 1e-9,
                        bytes / steps * 1e-9, rate * 1e-9, rate / rank["matmul_rate"].get<double>());
  } else if (bytes > 0) {
    const double rate = bytes / seconds;
    line += fmt::format("{:>10}{:>10.3f}{:>12.1f} GB/s   {:>8.2f}", "", bytes / steps * 1e-9, rate * 1e-9,
                        rate / rank["memory_rate"].get<double>());
  }
  return line;
}

}  // namespace

std::string profile_table(const std::vector<std::string>& accounts, int64_t asked) {
  std::vector<json> ranks;
  for (const std::string& text : accounts) ranks.push_back(json::parse(text));
  const json& first = ranks.front();
  const int64_t steps = first["steps"].get<int64_t>(), begin = first["first_step"].get<int64_t>();
  std::string table = fmt::format("profile of steps {} to {} of this run", begin, begin + steps - 1);
  if (steps < asked) table += fmt::format(" ({} were asked for; the run ended before)", asked);
  table += fmt::format("\nlimits of a rank: {:.1f} GFLOP/s in matrix products, {:.1f} GB/s in copies\n\n",
                       first["matmul_rate"].get<double>() * 1e-9, first["memory_rate"].get<double>() * 1e-9);

  table += fmt::format("{:<24}{:>10}{:>12}{:>9}{:>10}{:>10}{:>20}{:>8}\n", "a step of rank 0", "calls",
                       "seconds", "share", "GFLOP", "GB", "rate", "of limit");
  std::vector<json> operations = first["operations"];
  std::stable_sort(operations.begin(), operations.end(),
                   [](const json& a, const json& b) { return a["seconds"] > b["seconds"]; });
  for (const json& operation : operations) table += operation_line(operation, first) + "\n";

  // What a progress thread does beside its rank is no part of the rank's step.
  const bool any_hidden = std::any_of(ranks.begin(), ranks.end(),
                                      [](const json& rank) { return rank["hidden"].get<double>() > 0; });
  table += fmt::format("\n{:<40}{:>12}{:>12}{:>12}{:>12}{:>12}{}\n", "a step in seconds", "step", "compute",
                       "waiting", "copying", "else", any_hidden ? "  hidden copying" : "");
  for (const json& rank : ranks) {
    const double per_step = 1.0 / rank["steps"].get<double>();
    const double compute = compute_seconds(rank), waited = rank["waited"].get<double>(),
                 moved = rank["moved"].get<double>(), total = rank["seconds"].get<double>();
    table += fmt::format("{:<40}{:>12.6f}{:>12.6f}{:>12.6f}{:>12.6f}{:>12.6f}",
                         rank["rank"].get<std::string>(), total * per_step, compute * per_step,
                         waited * per_step, moved * per_step, (total - compute - waited - moved) * per_step);
    table += any_hidden ? fmt::format("{:>16.6f}\n", rank["hidden"].get<double>() * per_step) : "\n";
  }
  int64_t lost = 0;
  for (const json& rank : ranks) lost += rank["lost_events"].get<int64_t>();
  if (lost > 0)
    table +=
        fmt::format("{} events are counted here but left out of the trace, which would be too long\n", lost);
  return table;
}

}  // namespace octant
