// Token embedding and learned positions on the CPU. Arguments: core/ops.h; called by the CPU backend.
#pragma once

#include "core/ops.h"

namespace octant::cpu {

void embedding_forward(const EmbeddingForwardArgs& args, int threads);
void embedding_backward(const EmbeddingBackwardArgs& args, int threads);
void position_forward(const PositionForwardArgs& args, int threads);
void position_backward(const PositionBackwardArgs& args, int threads);

}  // namespace octant::cpu
