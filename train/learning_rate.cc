#include "train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octant {

double learning_rate(const LearningRateSettings& settings, int64_t step) {
  if (step < settings.warmup_steps)
    return settings.peak * static_cast<double>(step + 1) / static_cast<double>(settings.warmup_steps);
  if (settings.decay == Decay::kConstant) return settings.peak;
  const int64_t length = settings.decay_steps - settings.warmup_steps;
  const int64_t gone = step - settings.warmup_steps;
  if (length <= 0 || gone >= length) return settings.minimum;
  const double ratio = static_cast<double>(gone) / static_cast<double>(length);
  const double left =
      settings.decay == Decay::kLinear ? 1.0 - ratio : 0.5 * (1.0 + std::cos(std::numbers::pi * ratio));
  return settings.minimum + (settings.peak - settings.minimum) * left;
}

}  // namespace octant
