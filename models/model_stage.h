// One rank's piece of a model: the units of its pipeline stage, cut over the tensor axis.
//
//   ModelStage stage(context, config, {.first_layer = 0, .layers = 6, .first = true, .last = true});
//   for (Unit& unit : stage.units()) x = unit.module->forward(x, micro_batch, stash);
//
// Construction allocates nothing and communicates nothing: parameters get their storage from zero/.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "megatron/module.h"
#include "megatron/parameter.h"
#include "models/config.h"

namespace octant {

struct LayerContext;

// The parameters that are gathered and released together: one flat buffer (zero/flat_unit.h), parameters in
// this order.
struct ParameterUnit {
  std::string name;
  std::vector<Parameter*> parameters;
  // Held by both pipeline ends, which sum its gradient (a tied embedding over a pipeline).
  bool tied_over_pipeline = false;
};

// What a pipeline stage runs as one step: the embedding, a transformer block, the head.
struct Unit {
  std::string name;
  std::unique_ptr<Module> module;
  std::vector<int> parameter_units;       // indices into ModelStage::parameter_units()
  bool backward_reads_parameters = true;  // false for an embedding: ids have no gradient
};

struct StageOptions {
  int64_t first_layer = 0;
  int64_t layers = 0;
  bool first = true;  // holds the embedding
  bool last = true;   // holds the final norm, the head and the loss
  bool recompute = false;
  int64_t vocab_padding_multiple = 1;  // rows of the table are a multiple of this × tensor
};

class ModelStage {
 public:
  // `context` must outlive the stage.
  ModelStage(const LayerContext& context, const ModelConfig& config, const StageOptions& options);
  ~ModelStage();

  const ModelConfig& config() const { return config_; }
  const StageOptions& options() const { return options_; }
  std::vector<Unit>& units() { return units_; }
  const std::vector<ParameterUnit>& parameter_units() const { return parameter_units_; }

  // f64 scalar on the device to which the head adds the summed loss; null on other stages than the last.
  void set_loss(const Tensor& loss);
  // Logits (M, V) in f32 of the last unit's input, for generation on a tensor group of one; last stage only.
  Tensor logits(const Tensor& x, const MicroBatch& micro_batch);

 private:
  friend class StageBuilder;
  ModelConfig config_;
  StageOptions options_;
  std::deque<Parameter> parameters_;
  std::vector<ParameterUnit> parameter_units_;
  std::vector<Unit> units_;
  class HeadModule* head_ = nullptr;
};

// Logical specifications of every parameter of the model in canonical order, for checkpoints and counting:
// (name, global shape).
struct LogicalParameter {
  std::string name;
  Shape shape;
};
std::vector<LogicalParameter> logical_parameters(const ModelConfig& config);

}  // namespace octant
