// Tensor-parallel linear layers (Megatron-LM, Shoeybi 2019, section 3; with sequence parallelism Korthikanti
// 2022, section 4.2.2).
//
// Weights are [out, in]. A linear layer may hold several logical weights that lie next to each other in their
// unit (query, key, value): they act as one matrix. Column-parallel: each rank has a piece of `out`, its
// input is whole. Row-parallel: each rank has a piece of `in`, its output is a sum over ranks.
#pragma once

#include <vector>

#include "megatron/context.h"
#include "megatron/module.h"
#include "megatron/parameter.h"

namespace octant {

// Adjacent parameters seen as one [out, in] matrix (and one bias).
struct LinearWeights {
  std::vector<Parameter*> weights;
  std::vector<Parameter*> biases;  // empty = none
  int64_t out = 0;                 // local rows, all weights together
  int64_t in = 0;                  // local columns

  Matrix value() const {
    return {weights.front()->value.data(), weights.front()->value.dtype(), out, in, in};
  }
  Matrix gradient() const {
    return {weights.front()->gradient.data(), weights.front()->gradient.dtype(), out, in, in};
  }
  // Parameter::accumulates() of the weights together.
  bool accumulate_weights() const {
    bool accumulates = true;
    for (Parameter* weight : weights) accumulates = weight->accumulates();
    return accumulates;
  }
  bool accumulate_biases() const {
    bool accumulates = true;
    for (Parameter* each : biases) accumulates = each->accumulates();
    return accumulates;
  }
  const void* bias() const { return biases.empty() ? nullptr : biases.front()->value.data(); }
  // Builds the view and checks that local shapes agree (BugError).
  static LinearWeights make(std::vector<Parameter*> weights, std::vector<Parameter*> biases);
};

// y = x · Wᵀ + b. x: (M, in), or this rank's token rows of it under sequence parallelism; y: (M, out_local).
class ColumnParallelLinear : public Module {
 public:
  ColumnParallelLinear(const LayerContext& context, LinearWeights weights)
      : context_(context), weights_(std::move(weights)) {}
  Tensor forward(const Tensor& x, const MicroBatch&, Stash&) override;
  // dx is summed over the tensor axis while the weight gradient is computed.
  Tensor backward_input(const Tensor& dy, const MicroBatch&, Stash&) override;
  void backward_weight(Stash&) override;

 private:
  const LayerContext& context_;
  LinearWeights weights_;
};

// y = sum over ranks of x_local · W_localᵀ, + b. x: (M, in_local); y: (M, out), or this rank's token rows of
// it.
//
// A caller that can make x again keeps it out of the stash: it calls project, input_gradient and then
// weight_gradient in place of the three of Module.
class RowParallelLinear : public Module {
 public:
  RowParallelLinear(const LayerContext& context, LinearWeights weights)
      : context_(context), weights_(std::move(weights)) {}
  Tensor forward(const Tensor& x, const MicroBatch&, Stash&) override;
  Tensor backward_input(const Tensor& dy, const MicroBatch&, Stash&) override;
  void backward_weight(Stash&) override;

  Tensor project(const Tensor& x) const;
  // The gradient of the output as the two weight gradients need it.
  struct OutputGradient {
    Tensor whole;  // (M, out)
    Tensor rows;   // this rank's token rows of it
  };
  Tensor input_gradient(const Tensor& dy, OutputGradient& output) const;
  void weight_gradient(const OutputGradient& output, const Tensor& x) const;

 private:
  const LayerContext& context_;
  LinearWeights weights_;
};

}  // namespace octant
