// Dynamic loss scaling for F16 (Micikevicius 2018, section 3.2).
//
// An overflow spends one unit of hysteresis; when it is spent, each further overflow halves the scale, down
// to the minimum. `window` clean steps in a row double the scale and refill the hysteresis. The state is part
// of a checkpoint.
#pragma once

#include <algorithm>

#include "zero/config.h"

namespace octant {

class LossScale {
 public:
  struct State {
    double scale = 1;
    int64_t clean_steps = 0;
    int64_t hysteresis_left = 0;
  };

  // Scaling off: the scale is 1 for ever.
  LossScale() = default;
  explicit LossScale(const LossScaleConfig& config)
      : enabled_(true), config_(config), state_{config.initial, 0, config.hysteresis} {}

  bool enabled() const { return enabled_; }
  double scale() const { return state_.scale; }
  // At the minimum an overflow cannot be answered any more.
  bool exhausted() const {
    return enabled_ && state_.scale <= config_.minimum && state_.hysteresis_left <= 1;
  }

  void update(bool overflow) {
    if (!enabled_) return;
    if (overflow) {
      state_.clean_steps = 0;
      if (state_.hysteresis_left > 1) {
        --state_.hysteresis_left;
      } else {
        state_.scale = std::max(state_.scale / 2, config_.minimum);
      }
    } else if (++state_.clean_steps == config_.window) {
      state_.clean_steps = 0;
      state_.scale *= 2;
      state_.hysteresis_left = config_.hysteresis;
    }
  }

  const State& state() const { return state_; }
  void restore(const State& state) {
    if (enabled_) state_ = state;
  }

 private:
  bool enabled_ = false;
  LossScaleConfig config_;
  State state_;
};

}  // namespace octant
