#include "megatron/linear.h"

#include <fmt/format.h>

#include "megatron/matrix.h"
#include "megatron/token_rows.h"

namespace octant {
namespace {

void accumulate_weight_gradient(const LayerContext& context, const LinearWeights& weights, const Tensor& dy,
                                const Tensor& x) {
  context.ops().matmul(context.stream(), {.a = as_matrix(dy),
                                          .b = as_matrix(x),
                                          .c = weights.gradient(),
                                          .transpose_a = true,
                                          .accumulate = weights.accumulate_weights()});
}

void accumulate_bias_gradient(const LayerContext& context, const LinearWeights& weights, const Tensor& dy) {
  if (weights.biases.empty()) return;
  const Tensor& gradient = weights.biases.front()->gradient;
  context.ops().bias_gradient(context.stream(), {.dy = as_matrix(dy),
                                                 .dbias = gradient.data(),
                                                 .dbias_dtype = gradient.dtype(),
                                                 .accumulate = weights.accumulate_biases()});
}

}  // namespace

LinearWeights LinearWeights::make(std::vector<Parameter*> weights, std::vector<Parameter*> biases) {
  LinearWeights result;
  result.in = weights.front()->local_shape()[1];
  int64_t bias_elements = 0;
  for (const Parameter* weight : weights) {
    if (weight->local_shape()[1] != result.in)
      throw BugError(fmt::format("{} cannot be fused with {}: their inputs differ", weight->name(),
                                 weights.front()->name()));
    result.out += weight->local_shape()[0];
  }
  for (const Parameter* bias : biases) bias_elements += bias->local_elements();
  if (!biases.empty() && bias_elements != result.out)
    throw BugError(fmt::format("the bias of {} has {} elements for {} outputs", weights.front()->name(),
                               bias_elements, result.out));
  result.weights = std::move(weights);
  result.biases = std::move(biases);
  return result;
}

Tensor ColumnParallelLinear::forward(const Tensor& x, const MicroBatch&, Stash& stash) {
  // Only the rank's own rows are kept; the backward gathers them again (Korthikanti 2022, section 4.2.2).
  stash.push(x);
  const Tensor whole = gather_rows(context_, x).take();
  Tensor y = context_.activation({whole.shape()[0], weights_.out});
  context_.ops().matmul(context_.stream(), {.a = as_matrix(whole),
                                            .b = weights_.value(),
                                            .c = as_matrix(y),
                                            .transpose_b = true,
                                            .bias = weights_.bias()});
  return y;
}

Tensor ColumnParallelLinear::backward_input(const Tensor& dy, const MicroBatch&, Stash& stash) {
  PendingTensor x = gather_rows(context_, stash.pop());
  Tensor partial = context_.activation({dy.shape()[0], weights_.in});
  context_.ops().matmul(context_.stream(),
                        {.a = as_matrix(dy), .b = weights_.value(), .c = as_matrix(partial)});
  PendingTensor dx = sum_rows(context_, std::move(partial));
  stash.defer(dy);
  stash.defer(x.take());
  if (stash.weights_now()) backward_weight(stash);
  return dx.take();
}

void ColumnParallelLinear::backward_weight(Stash& stash) {
  const Tensor dy = stash.take();
  const Tensor x = stash.take();
  accumulate_weight_gradient(context_, weights_, dy, x);
  accumulate_bias_gradient(context_, weights_, dy);
}

Tensor RowParallelLinear::project(const Tensor& x) const {
  Tensor partial = context_.activation({x.shape()[0], weights_.out});
  // The bias enters the sum once, with the first rank's part.
  context_.ops().matmul(context_.stream(), {.a = as_matrix(x),
                                            .b = weights_.value(),
                                            .c = as_matrix(partial),
                                            .transpose_b = true,
                                            .bias = context_.tensor_rank() == 0 ? weights_.bias() : nullptr});
  return sum_rows(context_, std::move(partial)).take();
}

Tensor RowParallelLinear::input_gradient(const Tensor& dy, OutputGradient& output) const {
  output.rows = dy;
  output.whole = gather_rows(context_, dy).take();
  Tensor dx = context_.activation({output.whole.shape()[0], weights_.in});
  context_.ops().matmul(context_.stream(),
                        {.a = as_matrix(output.whole), .b = weights_.value(), .c = as_matrix(dx)});
  return dx;
}

void RowParallelLinear::weight_gradient(const OutputGradient& output, const Tensor& x) const {
  accumulate_weight_gradient(context_, weights_, output.whole, x);
  // From this rank's rows: under sequence parallelism the bias gradient is partial and zero/ sums it.
  accumulate_bias_gradient(context_, weights_, output.rows);
}

Tensor RowParallelLinear::forward(const Tensor& x, const MicroBatch&, Stash& stash) {
  stash.push(x);
  return project(x);
}

Tensor RowParallelLinear::backward_input(const Tensor& dy, const MicroBatch&, Stash& stash) {
  OutputGradient output;
  Tensor dx = input_gradient(dy, output);
  stash.defer(std::move(output.whole));
  stash.defer(std::move(output.rows));
  stash.defer(stash.pop());
  if (stash.weights_now()) backward_weight(stash);
  return dx;
}

void RowParallelLinear::backward_weight(Stash& stash) {
  OutputGradient output;
  output.whole = stash.take();
  output.rows = stash.take();
  weight_gradient(output, stash.take());
}

}  // namespace octant
