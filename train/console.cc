#include "train/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

namespace octant {
namespace {

// JSON has no NaN: a non-finite number is null there.
nlohmann::json number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

}  // namespace

std::string to_json(const StepMetrics& metrics) {
  nlohmann::ordered_json entry;
  entry["step"] = metrics.step;
  entry["loss"] = number(metrics.loss);
  entry["grad_norm"] = number(metrics.gradient_norm);
  entry["learning_rate"] = metrics.learning_rate;
  entry["tokens"] = metrics.tokens;
  entry["total_tokens"] = metrics.total_tokens;
  entry["step_seconds"] = metrics.step_seconds;
  entry["tokens_per_second"] = metrics.tokens_per_second;
  entry["wait_seconds"] = metrics.wait_seconds;
  entry["exposed_communication"] = metrics.exposed_communication;
  entry["hidden_communication"] = metrics.hidden_communication;
  entry["share"] = metrics.share;
  if (metrics.loss_scale) entry["loss_scale"] = *metrics.loss_scale;
  if (metrics.skipped) entry["skipped"] = true;
  return entry.dump();
}

void Console::clear_bar() {
  if (bar_shown_) *out_ << "\r\033[K";
  bar_shown_ = false;
}

void Console::table(const std::string& title, const std::vector<std::pair<std::string, std::string>>& rows) {
  if (out_ == nullptr) return;
  clear_bar();
  size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, name.size());
  *out_ << title << '\n';
  for (const auto& [name, value] : rows) *out_ << fmt::format("  {:<{}}  {}\n", name, width, value);
  out_->flush();
}

void Console::line(const std::string& text) {
  if (out_ == nullptr) return;
  clear_bar();
  *out_ << text << std::endl;
}

void Console::step(const StepMetrics& m) {
  if (out_ == nullptr) return;
  line(fmt::format(
      "step {}/{} | loss {} | norm {:.4f} | lr {:.3e} | {:.0f} ms | {:.0f} tok/s | share {:.2f}{}{}", m.step,
      m.steps, m.loss ? fmt::format("{:.6f}", *m.loss) : "none", m.gradient_norm, m.learning_rate,
      m.step_seconds * 1e3, m.tokens_per_second, m.share,
      m.exposed_communication >= 0.01 * m.step_seconds
          ? fmt::format(" | exposed {:.0f} ms", m.exposed_communication * 1e3)
          : "",
      m.skipped ? " | skipped" : ""));
  if (!interactive_) return;
  constexpr int64_t kWidth = 40;
  const int64_t done = m.steps > 0 ? m.step * kWidth / m.steps : kWidth;
  *out_ << fmt::format(
      "[{:=<{}}{:<{}}] {:.0f} %  about {:.0f} s left", "", done, "", kWidth - done,
      100.0 * static_cast<double>(m.step) / static_cast<double>(std::max<int64_t>(1, m.steps)),
      static_cast<double>(m.steps - m.step) * m.step_seconds);
  out_->flush();
  bar_shown_ = true;
}

void Console::finish() {
  if (out_ != nullptr) clear_bar();
}

}  // namespace octant
