#include <charconv>
#include <cmath>
#include <limits>

#include "job/rules.h"
#include "job/validate.h"

namespace octant {

std::optional<int64_t> parse_size(const std::string& text) {
  if (text.empty() || text == "none") return 0;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string unit(stop, end);
  if (!unit.empty() && unit[0] == ' ') unit.erase(0, 1);
  struct Unit {
    const char* name;
    double bytes;
  };
  constexpr double k = 1024, t = 1000;
  constexpr Unit kUnits[] = {
      {"", 1},   {"B", 1},  {"KiB", k},    {"MiB", k * k},    {"GiB", k * k * k},   {"TiB", k * k * k * k},
      {"kB", t}, {"KB", t}, {"MB", t * t}, {"GB", t * t * t}, {"TB", t * t * t * t}};
  for (const Unit& candidate : kUnits) {
    if (unit != candidate.name) continue;
    const double bytes = number * candidate.bytes;
    if (bytes >= 9e18) return std::nullopt;
    return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

void check_device(const spec::Job& job, SpecReport& report) {
  const spec::Device& d = job.device();
  if (d.threads_per_rank() < 0)
    report.add("device.threads_per_rank", "must be at least 0", "use 1, or 0 to have it chosen");
  if (d.threads_per_rank() > 4096)
    report.add("device.threads_per_rank", "must be at most 4096", "use 1, or 0 to have it chosen");
  const auto limit = parse_size(d.memory_limit());
  if (!limit)
    report.add("device.memory_limit", "is not a size",
               "use \"2GiB\", \"512MiB\", a number of bytes, or \"none\"");
  else if (*limit == 0 && d.memory_limit() != "none" && !d.memory_limit().empty())
    report.add("device.memory_limit", "leaves no memory at all", "use \"2GiB\", or \"none\" for no limit");
  const spec::Parallel& p = job.parallel();
  if (d.progress_thread() == spec::ProgressThread::ON && p.data() == 1 && p.tensor() == 1 &&
      p.pipeline() == 1)
    report.notice("device.progress_thread=ON has nothing to do: one rank has no peers");
  if (!(job.debug().collective_timeout_seconds() > 0))
    report.add("debug.collective_timeout_seconds", "must be above 0", "use 600");
}

}  // namespace octant
