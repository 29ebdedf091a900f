// From a run-time DType to the C++ type of its elements.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "core/dtype.h"
#include "core/error.h"
#include "core/math/float16.h"

namespace octant::cpu {

inline bool is_compute_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

// Layers compute in f32, bf16 or f16; everything else is a bug of the caller.
inline void require_compute_type(DType dtype, std::string_view operation) {
  if (!is_compute_type(dtype)) {
    throw BugError(fmt::format("{} was given elements of type {}; it takes f32, bf16 or f16", operation,
                               name_of(dtype)));
  }
}

// Calls f with a value of the element type, which only its type is used of. The dtype was checked before.
template <typename F>
void with_compute_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBF16:
      f(BFloat16{});
      return;
    case DType::kF16:
      f(Float16{});
      return;
    default:
      f(float{});
      return;
  }
}

}  // namespace octant::cpu
