// The learning rate as a pure function of (settings, step): what a resumed run uses is what an uninterrupted
// one would have used.
#pragma once

#include <cstdint>

#include "job/settings.h"

namespace octant {

// `step` counts from 0. Warm-up: peak · (step + 1) / warmup_steps, so the first step already learns. Then
// constant, or from peak to minimum by LINEAR or COSINE until decay_steps (the warm-up included), and the
// minimum after. 0 <= rate <= peak always.
double learning_rate(const LearningRateSettings& settings, int64_t step);

}  // namespace octant
