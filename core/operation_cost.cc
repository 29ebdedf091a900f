#include "core/operation_cost.h"

#include <algorithm>

namespace octant {
namespace {

OperationCost moving(int64_t bytes) {
  return {.flops = 0, .bytes = static_cast<double>(bytes)};
}

int64_t bytes_of(const Matrix& matrix) {
  return matrix.rows * matrix.cols * size_of(matrix.dtype);
}

constexpr int64_t kFloat = 4;

}  // namespace

OperationCost cost_of(const MatmulArgs& args) {
  const int64_t inner = args.transpose_a ? args.a.rows : args.a.cols;
  OperationCost cost =
      moving(bytes_of(args.a) + bytes_of(args.b) + bytes_of(args.c) * (args.accumulate ? 2 : 1) +
             (args.bias != nullptr ? args.c.cols * size_of(args.a.dtype) : 0));
  cost.flops =
      2.0 * static_cast<double>(args.c.rows) * static_cast<double>(args.c.cols) * static_cast<double>(inner);
  return cost;
}

OperationCost cost_of(const BiasGradientArgs& args) {
  return moving(bytes_of(args.dy) + args.dy.cols * size_of(args.dbias_dtype) * (args.accumulate ? 2 : 1));
}

OperationCost forward_cost(const NormForwardArgs& args) {
  const int64_t weights = (args.rms ? 1 : 2) * args.cols * size_of(args.dtype);
  return moving(2 * args.rows * args.cols * size_of(args.dtype) + weights +
                (args.rms ? 1 : 2) * args.rows * kFloat);
}

OperationCost backward_cost(const NormBackwardArgs& args) {
  const int64_t gradients =
      (args.rms ? 1 : 2) * args.cols * size_of(args.gradient_dtype) * (args.accumulate ? 2 : 1);
  return moving(3 * args.rows * args.cols * size_of(args.dtype) + args.cols * size_of(args.dtype) +
                gradients + (args.rms ? 1 : 2) * args.rows * kFloat);
}

OperationCost forward_cost(const GeluArgs& args) {
  return moving(2 * args.n * size_of(args.dtype));
}

OperationCost backward_cost(const GeluArgs& args) {
  return moving((args.y != nullptr ? 4 : 3) * args.n * size_of(args.dtype));
}

OperationCost forward_cost(const SwigluArgs& args) {
  return moving(3 * args.rows * args.ffn * size_of(args.dtype));
}

OperationCost backward_cost(const SwigluArgs& args) {
  return moving((args.y != nullptr ? 6 : 5) * args.rows * args.ffn * size_of(args.dtype));
}

OperationCost cost_of(const RotaryArgs& args) {
  return moving(2 * args.rows * args.heads * args.head_size * size_of(args.dtype));
}

// Two products over half of the square, four FLOPs each an element and head dimension.
OperationCost forward_cost(const AttentionForwardArgs& args) {
  const double square = static_cast<double>(args.sequence) * static_cast<double>(args.sequence);
  const int64_t rows = args.batch * args.sequence * args.head_size * size_of(args.dtype);
  OperationCost cost =
      moving(rows * (2 * args.heads + 2 * args.kv_heads) + args.batch * args.heads * args.sequence * kFloat);
  cost.flops = 2.0 * static_cast<double>(args.batch * args.heads * args.head_size) * square;
  return cost;
}

// Five products in place of two.
OperationCost backward_cost(const AttentionBackwardArgs& args) {
  const AttentionForwardArgs& forward = args.forward;
  const int64_t rows = forward.batch * forward.sequence * forward.head_size * size_of(forward.dtype);
  OperationCost cost = moving(rows * (4 * forward.heads + 4 * forward.kv_heads) +
                              forward.batch * forward.heads * forward.sequence * kFloat);
  cost.flops = 2.5 * forward_cost(forward).flops;
  return cost;
}

OperationCost forward_cost(const EmbeddingForwardArgs& args) {
  return moving(2 * args.rows * args.cols * size_of(args.dtype) + args.rows * kFloat);
}

OperationCost backward_cost(const EmbeddingBackwardArgs& args) {
  return moving(args.rows * args.cols * (size_of(args.dtype) + 2 * size_of(args.gradient_dtype)) +
                args.rows * kFloat);
}

OperationCost forward_cost(const PositionForwardArgs& args) {
  const int64_t table = std::min(args.rows, args.sequence) * args.cols * size_of(args.dtype);
  return moving(2 * args.rows * args.cols * size_of(args.dtype) + table);
}

OperationCost backward_cost(const PositionBackwardArgs& args) {
  const int64_t table = std::min(args.rows, args.sequence) * args.cols * size_of(args.gradient_dtype);
  return moving(args.rows * args.cols * size_of(args.dtype) + 2 * table);
}

OperationCost forward_cost(const CrossEntropyArgs& args) {
  return moving(args.rows * args.valid * kFloat);
}

OperationCost backward_cost(const CrossEntropyArgs& args) {
  return moving(args.rows * (args.valid * kFloat + args.cols * size_of(args.dlogits_dtype)));
}

OperationCost cost_of(const DropoutArgs& args) {
  return moving((args.residual != nullptr ? 3 : 2) * args.rows * args.cols * size_of(args.dtype));
}

OperationCost cost_of(const AddArgs& args) {
  return moving(3 * args.n * size_of(args.dtype));
}

OperationCost cost_of(const CastArgs& args) {
  return moving(args.n * (size_of(args.in_dtype) + size_of(args.out_dtype) * (args.accumulate ? 2 : 1)));
}

OperationCost cost_of(const ReduceArgs& args) {
  return moving(args.n * (args.num_sources * size_of(args.dtype) +
                          size_of(args.out_dtype) * (args.accumulate ? 2 : 1)));
}

OperationCost cost_of(const SumSquaresArgs& args) {
  return moving(args.n * size_of(args.dtype));
}

OperationCost cost_of(const AdamwArgs& args) {
  return moving(args.n * (6 * kFloat + size_of(args.gradient_dtype) +
                          (args.parameters != nullptr ? size_of(args.parameters_dtype) : 0)));
}

OperationCost cost_of(const SgdArgs& args) {
  return moving(args.n * (2 * kFloat + size_of(args.gradient_dtype) +
                          (args.parameters != nullptr ? size_of(args.parameters_dtype) : 0)));
}

OperationCost cost_of(const NormalFillArgs& args) {
  return moving(args.n * kFloat);
}

}  // namespace octant
