#include "data/blend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace octant {

namespace {
constexpr int64_t kInterval = 8192;
}

Blend::Blend(std::span<const double> weights) : weights_(weights.begin(), weights.end()) {
  double sum = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!std::isfinite(weights_[i]) || weights_[i] < 0)
      throw UserError(fmt::format(
          "data.train[{}].weight = {}: a weight is a finite number, 0 or more; use 0 to leave a source out",
          i, weights_[i]));
    sum += weights_[i];
  }
  if (!(sum > 0) || !std::isfinite(sum))
    throw UserError(fmt::format(
        "data.train: the weights of {} sources add up to {}; at least one must be positive and their sum "
        "finite, such as weight: 1",
        weights_.size(), sum));
  for (double& weight : weights_) weight /= sum;
  if (std::count_if(weights_.begin(), weights_.end(), [](double w) { return w > 0; }) == 1)
    only_ = static_cast<int>(std::max_element(weights_.begin(), weights_.end()) - weights_.begin());
  states_.emplace_back(weights_.size(), 0);
}

int Blend::next(int64_t draw, std::vector<int64_t>& drawn) const {
  const auto turn = static_cast<double>(std::max<int64_t>(draw, 1));
  int best = -1;
  double largest = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] == 0) continue;
    const double missing = weights_[i] * turn - static_cast<double>(drawn[i]);
    if (best < 0 || missing > largest) {
      best = static_cast<int>(i);
      largest = missing;
    }
  }
  ++drawn[static_cast<size_t>(best)];
  return best;
}

void Blend::draws(int64_t begin, std::span<Draw> out) const {
  if (begin < 0) throw BugError("a blend is asked for a negative draw");
  if (only_ >= 0) {
    for (size_t k = 0; k < out.size(); ++k) out[k] = {only_, begin + static_cast<int64_t>(k)};
    return;
  }
  const auto interval = static_cast<size_t>(begin / kInterval);
  std::vector<int64_t> drawn;
  {
    const std::lock_guard lock(mutex_);
    while (states_.size() <= interval) {
      drawn = states_.back();
      const int64_t first = static_cast<int64_t>(states_.size() - 1) * kInterval;
      for (int64_t i = first; i < first + kInterval; ++i) next(i, drawn);
      states_.push_back(drawn);
    }
    drawn = states_[interval];
  }
  for (int64_t i = static_cast<int64_t>(interval) * kInterval; i < begin; ++i) next(i, drawn);
  for (size_t k = 0; k < out.size(); ++k) {
    const int source = next(begin + static_cast<int64_t>(k), drawn);
    out[k] = {source, drawn[static_cast<size_t>(source)] - 1};
  }
}

}  // namespace octant
