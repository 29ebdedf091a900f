// The one optimizer core, the same pipeline for every stage and layout (docs/architecture.md, "A step"):
//
//   reduce over the data axis → sum partial gradients over the tensor axis → sum tied sites over the pipeline
//   ends → global norm, each element once → overflow or non-finite, agreed by the norm itself → clip → update
//   of the owned range → publish.
//
// Loss and gradients are sums over the global batch; the division by its counted tokens happens here, once.
// All ranks of the world must call step; all get the same result.
#pragma once

#include <string>

#include "parallel/world.h"
#include "zero/gradient_reducer.h"
#include "zero/loss_scale.h"
#include "zero/parameter_store.h"

namespace octant {

struct StepInput {
  int64_t counted_tokens = 0;  // of the global batch
  double learning_rate = 0;
  double loss_seed = 1;  // by which the backward's gradients are scaled
};

struct StepResult {
  double gradient_norm = 0;  // before clipping; not finite after an overflow
  bool applied = false;      // the weights changed
  bool overflow = false;     // F16: skipped for the loss scale
  std::string
      nonfinite_rank;  // where a non-finite gradient was first seen: "rank 3 (data 1, tensor 1, pipeline 0)"
};

class Optimizer {
 public:
  Optimizer(TrainingState& state, GradientReducer& reducer, ZeroParameterStore& store, GridGroups& groups,
            const OptimizerConfig& config, LossScale loss_scale);

  // With fail_at_nonfinite a non-finite norm in F32 or BF16 throws DivergedError before any weight changes.
  StepResult step(const StepInput& input);

  LossScale& loss_scale() { return loss_scale_; }
  // Updates applied so far: Adam's t.
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }

 private:
  void sum_over_tensor();
  void sum_over_ends();
  double squared_norm(std::string& nonfinite_rank);
  void update(double learning_rate, float gradient_scale);

  TrainingState& state_;
  GradientReducer& reducer_;
  ZeroParameterStore& store_;
  GridGroups& groups_;
  OptimizerConfig config_;
  LossScale loss_scale_;
  int64_t updates_ = 0;
  Tensor norms_;  // f64, one a unit
};

}  // namespace octant
