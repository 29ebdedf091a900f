// GELU in its tanh form (Hendrycks & Gimpel 2016), written with the logistic function:
// 0.5 x (1 + tanh(u)) = x · sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), which keeps its relative accuracy
// where 1 + tanh(u) would cancel.
#pragma once

#include <cmath>

namespace octant {

inline constexpr float kGeluLinear = 1.5957691216057308f;  // 2 sqrt(2/pi)
inline constexpr float kGeluCubic = 0.07135481627159f;     // 2 sqrt(2/pi) · 0.044715

inline float gelu(float x) {
  const float twice_u = x * (kGeluLinear + kGeluCubic * x * x);
  return x / (1.0f + std::exp(-twice_u));
}

// Beyond this both gelu' and its limit are the same float, and x^2 need not be computed.
inline constexpr float kGeluSaturates = 15.0f;

inline float gelu_derivative(float x) {
  if (std::fabs(x) > kGeluSaturates) x = std::copysign(kGeluSaturates, x);
  const float twice_u = x * (kGeluLinear + kGeluCubic * x * x);
  const float s = 1.0f / (1.0f + std::exp(-twice_u));
  return s + x * s * (1.0f - s) * (kGeluLinear + 3.0f * kGeluCubic * x * x);
}

}  // namespace octant
