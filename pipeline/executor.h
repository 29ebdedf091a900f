// Runs a schedule's action list on one pipeline stage: forwards and backwards of the stage's units, messages
// to the neighbours.
//
// Receives are posted one ahead in each direction, before the compute that precedes them; sends own their
// buffers and are waited for at the end. A forward acquires and releases each unit's parameters; a backward
// runs the units in reverse and tells the gradient sink when a unit's gradients are complete, so that their
// reduction can start under the backward of the next. All ranks of the world must call run with the same
// schedule.
#pragma once

#include <deque>
#include <vector>

#include "models/model_stage.h"
#include "models/stores.h"
#include "parallel/world.h"
#include "pipeline/schedule.h"

namespace octant {

struct LayerContext;

// Sum of the counted tokens' losses of this rank's micro-batches; 0 on stages without the head. `live` is the
// most micro-batches that held activations here at once.
struct LossSum {
  double value = 0;
  int peak_live_micro_batches = 0;
};

class Executor {
 public:
  // All must outlive the executor. `pipeline` is this rank's pipeline group.
  Executor(const LayerContext& context, ModelStage& stage, Communicator& pipeline);

  // Forward and backward of every micro-batch of the batch.
  LossSum run(const Schedule& schedule, const Batch& batch, ParameterStore& parameters,
              GradientSink& gradients);
  // Forward only, without dropout: `schedule` is a forward schedule.
  LossSum evaluate(const Schedule& schedule, const Batch& batch, ParameterStore& parameters);

 private:
  struct Incoming {
    Tensor tensor;
    Work work;
  };
  class Inbox;  // receives of one direction, posted one ahead

  LossSum execute(const Schedule& schedule, const Batch& batch, ParameterStore& parameters,
                  GradientSink* gradients);
  std::vector<UnitUse> uses(const std::vector<Action>& actions) const;
  Tensor forward(Tensor x, const MicroBatch& micro_batch, Stash& stash, ParameterStore& parameters);
  Tensor backward(Tensor dy, const MicroBatch& micro_batch, Stash& stash, ParameterStore& parameters,
                  GradientSink& gradients, bool last);

  const LayerContext& context_;
  ModelStage& stage_;
  Communicator& pipeline_;
  Tensor loss_;  // f64 scalar on the device
};

}  // namespace octant
