// What an operation must do at the least: floating-point operations of its products (a multiply-add counts as
// two; attention as half of the square), and bytes that must move once: inputs read, outputs written.
//
// Pure functions of the arguments: no pointer is followed. An operation that reads its inputs twice, or does
// arithmetic beside its products, costs more than this says; how much more is what a profile shows.
#pragma once

#include "core/ops.h"

namespace octant {

struct OperationCost {
  double flops = 0;
  double bytes = 0;
};

OperationCost cost_of(const MatmulArgs& args);
OperationCost cost_of(const BiasGradientArgs& args);
OperationCost forward_cost(const NormForwardArgs& args);
OperationCost backward_cost(const NormBackwardArgs& args);
OperationCost forward_cost(const GeluArgs& args);
OperationCost backward_cost(const GeluArgs& args);
OperationCost forward_cost(const SwigluArgs& args);
OperationCost backward_cost(const SwigluArgs& args);
OperationCost cost_of(const RotaryArgs& args);
OperationCost forward_cost(const AttentionForwardArgs& args);
OperationCost backward_cost(const AttentionBackwardArgs& args);
OperationCost forward_cost(const EmbeddingForwardArgs& args);
OperationCost backward_cost(const EmbeddingBackwardArgs& args);
OperationCost forward_cost(const PositionForwardArgs& args);
OperationCost backward_cost(const PositionBackwardArgs& args);
// Of the maximum and of the sum: the logits read once.
OperationCost forward_cost(const CrossEntropyArgs& args);
OperationCost backward_cost(const CrossEntropyArgs& args);
OperationCost cost_of(const DropoutArgs& args);
OperationCost cost_of(const AddArgs& args);
OperationCost cost_of(const CastArgs& args);
OperationCost cost_of(const ReduceArgs& args);
OperationCost cost_of(const SumSquaresArgs& args);
OperationCost cost_of(const AdamwArgs& args);
OperationCost cost_of(const SgdArgs& args);
OperationCost cost_of(const NormalFillArgs& args);

}  // namespace octant
