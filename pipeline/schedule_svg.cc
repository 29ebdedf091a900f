#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "pipeline/schedule.h"
#include "pipeline/schedule_timeline.h"

namespace octant {
namespace {

constexpr double kLeft = 76, kRight = 84, kTop = 64, kRow = 34, kBox = 26, kBottom = 40;
constexpr double kLabelWidth = 16;  // a narrower box goes without its label
constexpr std::string_view kForwardColour = "#4c8bc0";
constexpr std::string_view kBackwardColour = "#e2a03f";

bool is_compute(const Action& action) {
  return action.kind == ActionKind::kForward || action.kind == ActionKind::kBackward;
}

// Pixels for one unit of time: the drawing is about as wide as a page, but the shortest box neither vanishes
// nor bloats.
double scale_of(const ScheduleReport& report) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const TimelineEntry& entry : report.timeline)
    if (is_compute(entry.action) && entry.end > entry.begin)
      shortest = std::min(shortest, entry.end - entry.begin);
  if (!(report.makespan > 0) || std::isinf(shortest)) return 1;
  return std::clamp(1040 / report.makespan, 10 / shortest, 40 / shortest);
}

// A round step (1, 2 or 5 times a power of ten) of at least 48 pixels between grid lines.
double grid_step(double scale) {
  const double least = 48 / scale;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

std::string caption(const Schedule& schedule, const ScheduleReport& report) {
  std::string live;
  for (int count : report.peak_live_micro_batches)
    live += fmt::format("{}{}", live.empty() ? "" : " ", count);
  return fmt::format(
      "bubble {:.1f} % of {} stages × {:.4g} units of time · live micro-batches by stage, at most: {}",
      100 * report.bubble, schedule.stages, report.makespan, live);
}

}  // namespace

std::string to_svg(const Schedule& schedule, const ScheduleReport& report) {
  const double scale = scale_of(report);
  const double plot_width = report.makespan * scale;
  const double plot_height = schedule.stages * kRow;
  const double width = std::max(kLeft + plot_width + kRight, 640.0);
  const double height = kTop + plot_height + kBottom;
  std::string svg;
  const auto out = std::back_inserter(svg);

  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.2f}\" height=\"{1:.2f}\" "
                 "viewBox=\"0 0 {0:.2f} {1:.2f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
                 width, height);
  fmt::format_to(
      out,
      "<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"#222222\">{}{}, {} stages, {} "
      "micro-batches</text>\n<text x=\"16\" y=\"44\" fill=\"#555555\">{}</text>\n",
      name_of(schedule.kind), is_forward_only(schedule) ? " forward only" : "", schedule.stages,
      schedule.micro_batches, caption(schedule, report));

  const double step = grid_step(scale);
  svg += "<g stroke=\"#e3e3e3\" stroke-width=\"1\">\n";
  for (int line = 0; line * step <= report.makespan * (1 + 1e-9); ++line)
    fmt::format_to(out, "<line x1=\"{0:.2f}\" y1=\"{1:.2f}\" x2=\"{0:.2f}\" y2=\"{2:.2f}\"/>\n",
                   kLeft + line * step * scale, kTop, kTop + plot_height);
  for (int row = 0; row <= schedule.stages; ++row)
    fmt::format_to(out, "<line x1=\"{1:.2f}\" y1=\"{0:.2f}\" x2=\"{2:.2f}\" y2=\"{0:.2f}\"/>\n",
                   kTop + row * kRow, kLeft, kLeft + plot_width);
  svg += "</g>\n<g fill=\"#888888\" font-size=\"10\" text-anchor=\"middle\">\n";
  for (int line = 0; line * step <= report.makespan * (1 + 1e-9); ++line)
    fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.2f}\">{:.4g}</text>\n", kLeft + line * step * scale,
                   kTop + plot_height + 14, line * step);
  svg += "</g>\n<g fill=\"#222222\">\n";
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const double y = kTop + stage * kRow + kRow / 2 + 4;
    fmt::format_to(out, "<text x=\"16\" y=\"{:.2f}\">stage {}</text>\n", y, stage);
    fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.2f}\" fill=\"#555555\" font-size=\"11\">live {}</text>\n",
                   kLeft + plot_width + 10, y, report.peak_live_micro_batches[stage]);
  }
  svg += "</g>\n<g text-anchor=\"middle\" font-size=\"11\" fill=\"#ffffff\">\n";
  for (const TimelineEntry& entry : report.timeline) {
    if (!is_compute(entry.action)) continue;
    const bool forward = entry.action.kind == ActionKind::kForward;
    const double x = kLeft + entry.begin * scale, y = kTop + entry.stage * kRow + (kRow - kBox) / 2;
    const double box = (entry.end - entry.begin) * scale;
    fmt::format_to(out,
                   "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" rx=\"3\" fill=\"{}\" "
                   "stroke=\"#ffffff\"><title>stage {} {}: {:.4g} to {:.4g}</title></rect>\n",
                   x, y, box, kBox, forward ? kForwardColour : kBackwardColour, entry.stage,
                   to_text(entry.action, schedule.chunks), entry.begin, entry.end);
    if (box >= kLabelWidth)
      fmt::format_to(out, "<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", x + box / 2, y + kBox / 2 + 4,
                     entry.action.micro_batch);
  }
  svg += "</g>\n";
  const double legend = height - 10;
  fmt::format_to(
      out,
      "<g font-size=\"11\" fill=\"#555555\"><rect x=\"{0:.2f}\" y=\"{1:.2f}\" width=\"12\" height=\"10\" "
      "rx=\"2\" "
      "fill=\"{2}\"/><text x=\"{3:.2f}\" y=\"{4:.2f}\">forward</text><rect x=\"{5:.2f}\" y=\"{1:.2f}\" "
      "width=\"12\" height=\"10\" rx=\"2\" fill=\"{6}\"/><text x=\"{7:.2f}\" "
      "y=\"{4:.2f}\">backward</text></g>\n"
      "</svg>\n",
      kLeft, legend - 9, kForwardColour, kLeft + 18, legend, kLeft + 86, kBackwardColour, kLeft + 104);
  return svg;
}

}  // namespace octant
