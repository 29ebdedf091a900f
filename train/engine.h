// One rank's training engine: its piece of the model, its share of the state, and the step.
//
//   TrainingEngine engine(job, world, TrainingEngine::Purpose::kTrain);
//   StepReport report = engine.step(batch, step, rate);
//
// The same engine runs on thread ranks and on MPI processes: only World differs. Every method is collective
// over the world unless it says otherwise.
#pragma once

#include <memory>
#include <vector>

#include "core/micro_batch.h"
#include "job/job.h"
#include "megatron/context.h"
#include "models/model_stage.h"
#include "parallel/world.h"
#include "pipeline/executor.h"
#include "zero/optimizer.h"

namespace octant {

// The same on every rank.
struct StepReport {
  std::optional<double> loss;  // mean over the counted tokens of the global batch; none if there are none
  double gradient_norm = 0;    // before clipping
  int64_t counted_tokens = 0;
  bool applied = false;
  bool overflow = false;
  double loss_scale = 1;
};

struct EvaluationSum {
  double loss = 0;     // summed over counted tokens
  int64_t tokens = 0;  // counted
};

class TrainingEngine {
 public:
  enum class Purpose : uint8_t { kTrain, kForwardOnly };

  TrainingEngine(const Job& job, World& world, Purpose purpose);
  ~TrainingEngine();

  // First weights, from the seed.
  void initialize();
  // Collects what the backward left, agrees on loss and norm, updates. `step` counts from 0.
  StepReport step(const Batch& batch, int64_t step, double learning_rate);
  // The summed loss of one global batch's worth of sequences, without dropout. Changes nothing that training
  // reads.
  EvaluationSum evaluate(const Batch& batch);
  // Logits (V) in f32 on the host for what follows the last token of one sequence; a world of one rank only.
  std::vector<float> logits(const MicroBatch& micro_batch);

  // Master weights were changed from outside (a checkpoint): makes the parameters follow.
  void weights_changed();

  World& world() { return world_; }
  const Job& job() const { return job_; }
  GridGroups& groups() { return groups_; }
  TrainingState& state() { return *state_; }
  Optimizer& optimizer() { return *optimizer_; }
  ModelStage& stage() { return *stage_; }
  int peak_live_micro_batches() const { return peak_live_; }

 private:
  double agree_on_loss(double mine);
  int64_t agree_on_tokens(int64_t mine);

  const Job& job_;
  World& world_;
  GridGroups groups_;
  LayerContext context_;
  Schedule schedule_;
  Schedule forward_schedule_;
  std::unique_ptr<ModelStage> stage_;
  std::unique_ptr<TrainingState> state_;
  std::unique_ptr<GradientReducer> gradients_;
  std::unique_ptr<ZeroParameterStore> parameters_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Optimizer> optimizer_;
  int peak_live_ = 0;
};

// The job's settings as zero/ takes them.
ZeroConfig zero_config(const Job& job);
OptimizerConfig optimizer_config(const Job& job);
LossScale make_loss_scale(const Job& job);

}  // namespace octant
