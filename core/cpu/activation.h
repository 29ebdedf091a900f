// GELU and SwiGLU on the CPU. Arguments: core/ops.h; called by the CPU backend.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

void gelu_forward(const GeluArgs& args, int threads);
void gelu_backward(const GeluArgs& args, int threads);
void swiglu_forward(const SwigluArgs& args, int threads);
void swiglu_backward(const SwigluArgs& args, int threads);

}  // namespace octant::cpu
