// For operations that can only add to a gradient (tables of which a micro-batch touches a few rows).
#pragma once

#include "megatron/context.h"
#include "megatron/parameter.h"

namespace octant {

inline void clear_if_fresh(const LayerContext& context, Parameter& parameter) {
  if (parameter.accumulates()) return;
  context.ops().set_zero(context.stream(), parameter.gradient.data(), parameter.gradient.bytes());
}

}  // namespace octant
