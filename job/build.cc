#include "job/build.h"

#include "job/rules.h"
#include "job/validate.h"
#include "pipeline/partition.h"

namespace octant {
namespace {

template <class Sources>
std::vector<DataSource> build_sources(const Sources& sources) {
  std::vector<DataSource> built;
  for (const spec::DataSource& source : sources) {
    DataSource out;
    const bool text = source.has_text();
    out.kind = text ? DataSource::Kind::kText : DataSource::Kind::kIndexed;
    out.path = text ? source.text().path() : source.indexed().prefix();
    if (!text) out.mask_prefix = source.indexed().mask_prefix();
    out.weight = source.weight();
    built.push_back(std::move(out));
  }
  return built;
}

DataSettings build_data(const spec::Data& d) {
  DataSettings data;
  data.train = build_sources(d.train());
  data.validation = build_sources(d.validation());
  data.validation_fraction = d.validation_fraction();
  data.eod_mask_loss = d.eod_mask_loss();
  data.on_error = d.on_error() == spec::OnError::SKIP ? OnDataError::kSkip : OnDataError::kStop;
  return data;
}

ParallelSettings build_parallel(const spec::Parallel& p, const ModelConfig& model) {
  ParallelSettings parallel;
  parallel.data = p.data();
  parallel.tensor = p.tensor();
  parallel.pipeline = p.pipeline();
  parallel.sequence_parallel = p.sequence_parallel() && p.tensor() > 1;
  parallel.schedule = p.schedule() == spec::Schedule::GPIPE ? ScheduleKind::kGpipe : ScheduleKind::kOneFOneB;
  parallel.vocab_padding_multiple = p.vocab_padding_multiple();
  parallel.pipeline_layers.assign(p.pipeline_layers().begin(), p.pipeline_layers().end());
  if (parallel.pipeline_layers.empty()) {
    const ForwardFlops flops = forward_flops_per_token(model);
    parallel.pipeline_layers =
        balance_layers(model.num_layers, parallel.pipeline, flops.layer, flops.embedding, flops.head);
  }
  return parallel;
}

ZeroSettings build_zero(const spec::ZeroOptimization& z) {
  ZeroSettings zero;
  zero.stage = z.stage();
  zero.reduce_bucket_size = z.reduce_bucket_size();
  zero.allgather_bucket_size = z.allgather_bucket_size();
  zero.overlap_comm = z.overlap_comm();
  switch (z.reduce_every()) {
    case spec::ReduceEvery::STEP:
      zero.reduce_every = ReduceEvery::kStep;
      break;
    case spec::ReduceEvery::MICRO_BATCH:
      zero.reduce_every = ReduceEvery::kMicroBatch;
      break;
    default:
      zero.reduce_every = z.stage() >= 2 ? ReduceEvery::kMicroBatch : ReduceEvery::kStep;
      break;
  }
  switch (z.reshard_after_forward()) {
    case spec::Reshard::ALWAYS:
      zero.reshard_after_forward = ReshardPolicy::kAlways;
      break;
    case spec::Reshard::NEVER:
      zero.reshard_after_forward = ReshardPolicy::kNever;
      break;
    default:
      zero.reshard_after_forward = ReshardPolicy::kAuto;
      break;
  }
  return zero;
}

PrecisionSettings build_precision(const spec::Precision& p) {
  PrecisionSettings precision;
  switch (p.compute()) {
    case spec::NumberType::BF16:
      precision.compute = DType::kBF16;
      break;
    case spec::NumberType::F16:
      precision.compute = DType::kF16;
      break;
    default:
      precision.compute = DType::kF32;
      break;
  }
  if (p.gradients() == spec::GradientType::SAME_AS_COMPUTE) precision.gradients = precision.compute;
  LossScaleSettings& scale = precision.loss_scale;
  scale.enabled = precision.compute == DType::kF16;
  if (scale.enabled) {
    scale.initial = p.loss_scale().initial();
    scale.window = p.loss_scale().window();
    scale.hysteresis = p.loss_scale().hysteresis();
    scale.minimum = p.loss_scale().minimum();
  }
  return precision;
}

OptimizerSettings build_optimizer(const spec::Optimizer& o) {
  OptimizerSettings optimizer;
  optimizer.clip_grad_norm = o.clip_grad_norm();
  if (o.has_sgd()) {
    optimizer.kind = OptimizerSettings::Kind::kSgd;
    optimizer.weight_decay = 0;
    return optimizer;
  }
  optimizer.beta1 = o.adamw().beta1();
  optimizer.beta2 = o.adamw().beta2();
  optimizer.epsilon = o.adamw().epsilon();
  optimizer.weight_decay = o.adamw().weight_decay();
  return optimizer;
}

LearningRateSettings build_learning_rate(const spec::Job& job) {
  const spec::LearningRateSchedule& s = job.learning_rate_schedule();
  LearningRateSettings rate;
  rate.peak = job.optimizer().has_sgd() ? job.optimizer().sgd().learning_rate()
                                        : job.optimizer().adamw().learning_rate();
  rate.minimum = s.min_learning_rate();
  rate.warmup_steps = s.warmup_steps();
  rate.decay_steps = s.decay_steps();
  switch (s.decay()) {
    case spec::Decay::LINEAR:
      rate.decay = Decay::kLinear;
      break;
    case spec::Decay::COSINE:
      rate.decay = Decay::kCosine;
      break;
    default:
      rate.decay = Decay::kConstant;
      break;
  }
  return rate;
}

CheckpointSettings build_checkpoint(const spec::Job& job) {
  const spec::Checkpoint& c = job.checkpoint();
  CheckpointSettings checkpoint;
  checkpoint.dir = c.has_dir() ? c.dir() : job.output_dir() + "/checkpoints";
  checkpoint.interval = c.interval();
  checkpoint.keep = c.keep();
  checkpoint.resume_from = c.resume_from();
  checkpoint.weights_only = c.weights_only();
  switch (c.resume()) {
    case spec::Resume::NEVER:
      checkpoint.resume = Resume::kNever;
      break;
    case spec::Resume::REQUIRED:
      checkpoint.resume = Resume::kRequired;
      break;
    default:
      checkpoint.resume = Resume::kAuto;
      break;
  }
  return checkpoint;
}

ProgressThread build_progress_thread(spec::ProgressThread::Value given) {
  switch (given) {
    case spec::ProgressThread::ON:
      return ProgressThread::kOn;
    case spec::ProgressThread::OFF:
      return ProgressThread::kOff;
    default:
      return ProgressThread::kAuto;
  }
}

TransportKind build_transport(spec::Transport::Value transport) {
  switch (transport) {
    case spec::Transport::THREADS:
      return TransportKind::kThreads;
    case spec::Transport::MPI:
      return TransportKind::kMpi;
    default:
      return TransportKind::kAuto;
  }
}

}  // namespace

Job build_job(const spec::Job& given, spec::Job effective, const BatchPlan& plan,
              std::vector<std::string> notices) {
  effective.mutable_batch()->set_global_batch_size(plan.global);
  effective.mutable_batch()->set_micro_batch_size(plan.micro);
  effective.mutable_batch()->set_gradient_accumulation_steps(plan.accumulation);

  Job job;
  job.name = effective.name();
  job.output_dir = effective.output_dir();
  job.seed = effective.seed();
  job.model = model_config(effective.model());
  job.data = build_data(effective.data());
  job.parallel = build_parallel(effective.parallel(), job.model);
  job.zero = build_zero(effective.zero_optimization());
  job.precision = build_precision(effective.precision());
  job.batch = plan;
  job.optimizer = build_optimizer(effective.optimizer());
  job.learning_rate = build_learning_rate(effective);
  job.activation_checkpointing = effective.activation_checkpointing().mode() == spec::CheckpointingMode::FULL;
  const spec::Training& t = effective.training();
  job.training = {t.steps(), t.eval_interval(), t.eval_batches(), t.fail_at_nan()};
  job.checkpoint = build_checkpoint(effective);
  job.device = {effective.device().threads_per_rank(), *parse_size(effective.device().memory_limit()),
                build_progress_thread(effective.device().progress_thread())};
  job.transport = build_transport(effective.launch().transport());
  job.debug = {effective.debug().verify_collectives(), effective.debug().collective_timeout_seconds()};
  job.given = given;
  job.effective = std::move(effective);
  job.notices = std::move(notices);
  return job;
}

}  // namespace octant
