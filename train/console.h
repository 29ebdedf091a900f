// What a run tells a person: a table at the start of what runs where, one line a step, a progress bar on a
// terminal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace octant {

// One step as metrics.jsonl and the step line show it. `step` counts from 1.
struct StepMetrics {
  int64_t step = 0, steps = 0;
  std::optional<double> loss;
  double gradient_norm = 0;
  double learning_rate = 0;
  int64_t tokens = 0;        // counted tokens of this step
  int64_t total_tokens = 0;  // of the run
  double step_seconds = 0;
  double tokens_per_second = 0;  // all tokens of the global batch, masked ones included
  double wait_seconds = 0;       // rank 0's time blocked in waits for its peers
  // Rank 0's time in its transport, waits and moves: communication that compute did not hide.
  double exposed_communication = 0;
  double hidden_communication = 0;
  double share = 0;  // model FLOP/s over the machine's matmul rate
  std::optional<double> loss_scale = std::nullopt;
  bool skipped = false;  // no weight changed: an overflow, or no counted token
};
std::string to_json(const StepMetrics& metrics);

class Console {
 public:
  // `out` null: silent.
  Console(std::ostream* out, bool interactive) : out_(out), interactive_(interactive) {}

  void table(const std::string& title, const std::vector<std::pair<std::string, std::string>>& rows);
  void line(const std::string& text);
  void step(const StepMetrics& metrics);
  // Ends the progress bar.
  void finish();

 private:
  void clear_bar();
  std::ostream* out_;
  bool interactive_;
  bool bar_shown_ = false;
};

}  // namespace octant
