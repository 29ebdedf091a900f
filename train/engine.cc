#include "train/engine.h"

#include <fmt/format.h>

#include <cmath>

namespace octant {

ZeroConfig zero_config(const Job& job) {
  ZeroConfig config;
  config.stage = job.zero.stage;
  config.reduce_every =
      job.zero.reduce_every == ReduceEvery::kStep ? ReduceCadence::kStep : ReduceCadence::kMicroBatch;
  switch (job.zero.reshard_after_forward) {
    case ReshardPolicy::kAlways:
      config.reshard = ReshardAfterForward::kAlways;
      break;
    case ReshardPolicy::kNever:
      config.reshard = ReshardAfterForward::kNever;
      break;
    case ReshardPolicy::kAuto:
      config.reshard = ReshardAfterForward::kAuto;
      break;
  }
  config.reduce_bucket = job.zero.reduce_bucket_size;
  config.allgather_bucket = job.zero.allgather_bucket_size;
  config.overlap = job.zero.overlap_comm;
  config.compute = job.precision.compute;
  config.gradients = job.precision.gradients;
  return config;
}

OptimizerConfig optimizer_config(const Job& job) {
  return {.kind = job.optimizer.kind == OptimizerSettings::Kind::kAdamW ? OptimizerKind::kAdamw
                                                                        : OptimizerKind::kSgd,
          .beta1 = static_cast<float>(job.optimizer.beta1),
          .beta2 = static_cast<float>(job.optimizer.beta2),
          .epsilon = static_cast<float>(job.optimizer.epsilon),
          .weight_decay = static_cast<float>(job.optimizer.weight_decay),
          .clip_grad_norm = job.optimizer.clip_grad_norm,
          .fail_at_nonfinite = job.training.fail_at_nan};
}

LossScale make_loss_scale(const Job& job) {
  const LossScaleSettings& settings = job.precision.loss_scale;
  if (!settings.enabled) return LossScale();
  return LossScale({.initial = settings.initial,
                    .window = settings.window,
                    .hysteresis = settings.hysteresis,
                    .minimum = settings.minimum});
}

namespace {

StageOptions stage_options(const Job& job, const Coordinates& at) {
  StageOptions options;
  for (int stage = 0; stage < at.pipeline; ++stage)
    options.first_layer += job.parallel.pipeline_layers[static_cast<size_t>(stage)];
  options.layers = job.parallel.pipeline_layers[static_cast<size_t>(at.pipeline)];
  options.first = at.pipeline == 0;
  options.last = at.pipeline == job.parallel.pipeline - 1;
  options.recompute = job.activation_checkpointing;
  options.vocab_padding_multiple = job.parallel.vocab_padding_multiple;
  return options;
}

}  // namespace

TrainingEngine::TrainingEngine(const Job& job, World& world, Purpose purpose)
    : job_(job),
      world_(world),
      groups_(world, ProcessGrid({.data = job.parallel.data,
                                  .tensor = job.parallel.tensor,
                                  .pipeline = job.parallel.pipeline})) {
  context_.device = &world.device();
  context_.tensor = groups_.tensor.get();
  context_.sequence_parallel = job.parallel.sequence_parallel;
  context_.compute = job.precision.compute;
  context_.seed = job.seed;
  const int micro_batches = static_cast<int>(job.batch.accumulation);
  schedule_ = make_schedule(job.parallel.schedule, job.parallel.pipeline, micro_batches);
  forward_schedule_ = make_forward_schedule(job.parallel.pipeline, micro_batches);

  world.agree("allocating the model", [&] {
    const bool train = purpose == Purpose::kTrain;
    stage_ = std::make_unique<ModelStage>(context_, job.model, stage_options(job, groups_.at));
    state_ = std::make_unique<TrainingState>(
        world.device(), *stage_, zero_config(job),
        TrainingState::Needs{.gradients = train,
                             .moments = train && job.optimizer.kind == OptimizerSettings::Kind::kAdamW},
        groups_.at.data, job.parallel.data);
    parameters_ = std::make_unique<ZeroParameterStore>(*state_, *stage_, *groups_.data);
    executor_ = std::make_unique<Executor>(context_, *stage_, *groups_.pipeline);
    if (!train) return;
    gradients_ = std::make_unique<GradientReducer>(*state_, *stage_, *groups_.data);
    optimizer_ = std::make_unique<Optimizer>(*state_, *gradients_, *parameters_, groups_,
                                             optimizer_config(job), make_loss_scale(job));
  });
}

TrainingEngine::~TrainingEngine() = default;

void TrainingEngine::initialize() {
  state_->initialize(job_.seed);
}

StepReport TrainingEngine::step(const Batch& batch, int64_t step, double learning_rate) {
  StepReport report;
  report.counted_tokens = agree_on_tokens(batch.counted_tokens);
  report.loss_scale = optimizer_->loss_scale().scale();
  // F16: the seed of the backward is small enough that a sum over the step's tokens stays in range; a power
  // of two, so that dividing by it again is exact.
  const double seed =
      optimizer_->loss_scale().enabled() && report.counted_tokens > 0
          ? report.loss_scale * std::exp2(-std::ceil(std::log2(static_cast<double>(report.counted_tokens))))
          : 1.0;
  context_.loss_seed = static_cast<float>(seed);

  gradients_->begin_step();
  const LossSum sum = executor_->run(schedule_, batch, *parameters_, *gradients_);
  peak_live_ = std::max(peak_live_, sum.peak_live_micro_batches);
  const double loss = agree_on_loss(sum.value);
  if (report.counted_tokens > 0) report.loss = loss / static_cast<double>(report.counted_tokens);
  if (!std::isfinite(loss) && job_.training.fail_at_nan && !optimizer_->loss_scale().enabled())
    throw DivergedError(
        fmt::format("the loss of step {} is {}; no weight was changed by it (training.fail_at_nan)", step + 1,
                    std::isnan(loss) ? "NaN" : "infinite"));

  StepResult result;
  try {
    result = optimizer_->step({.counted_tokens = report.counted_tokens,
                               .learning_rate = learning_rate,
                               .loss_seed = static_cast<double>(context_.loss_seed)});
  } catch (const DivergedError& error) {
    throw DivergedError(fmt::format("step {}: {}; no weight was changed by it", step + 1, error.what()));
  }
  report.gradient_norm = result.gradient_norm;
  report.applied = result.applied;
  report.overflow = result.overflow;
  return report;
}

EvaluationSum TrainingEngine::evaluate(const Batch& batch) {
  const LossSum sum = executor_->evaluate(forward_schedule_, batch, *parameters_);
  return {.loss = agree_on_loss(sum.value), .tokens = agree_on_tokens(batch.counted_tokens)};
}

std::vector<float> TrainingEngine::logits(const MicroBatch& micro_batch) {
  if (world_.size() != 1) throw BugError("logits are read on one rank");
  Stash nothing(/*discard=*/true);
  Tensor x, logits;
  std::vector<Unit>& units = stage_->units();
  for (size_t unit = 0; unit < units.size(); ++unit) {
    const UnitUse use{static_cast<int>(unit), false};
    parameters_->acquire(use);
    if (unit + 1 < units.size()) {
      x = units[unit].module->forward(x, micro_batch, nothing);
    } else {
      logits = stage_->logits(x.narrow(x.shape()[0] - 1, 1), micro_batch);
    }
    parameters_->release(use);
  }
  std::vector<float> host(static_cast<size_t>(logits.elements()));
  context_.ops().copy_to_host(context_.stream(), host.data(), logits.data(), logits.bytes());
  context_.ops().synchronize(context_.stream());
  return host;
}

void TrainingEngine::weights_changed() {
  for (int unit = 0; unit < state_->unit_count(); ++unit) state_->parameters_from_master(unit);
  parameters_->publish();
}

double TrainingEngine::agree_on_loss(double mine) {
  double value[1] = {mine};
  groups_.data->all_reduce(std::span<double>(value), ReduceOp::kSum);
  groups_.pipeline->all_reduce(std::span<double>(value), ReduceOp::kSum);
  return value[0];
}

int64_t TrainingEngine::agree_on_tokens(int64_t mine) {
  int64_t value[1] = {mine};
  groups_.data->all_reduce(std::span<int64_t>(value), ReduceOp::kSum);
  return value[0];
}

}  // namespace octant
