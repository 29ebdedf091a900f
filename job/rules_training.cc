#include <fmt/format.h>

#include "job/rules.h"

namespace octant {
namespace {

double peak_rate(const spec::Optimizer& o) {
  return o.has_sgd() ? o.sgd().learning_rate() : o.adamw().learning_rate();
}

}  // namespace

void check_precision(const spec::Job& job, SpecReport& report) {
  const spec::Precision& p = job.precision();
  if (p.compute() == spec::NumberType::F32 && p.gradients() == spec::GradientType::SAME_AS_COMPUTE)
    report.notice("precision.gradients=SAME_AS_COMPUTE changes nothing: precision.compute is F32");
  if (!p.has_loss_scale()) return;
  const spec::LossScale& s = p.loss_scale();
  if (p.compute() != spec::NumberType::F16)
    report.notice("precision.loss_scale has nothing to do: precision.compute is not F16");
  if (!(s.minimum() > 0)) report.add("precision.loss_scale.minimum", "must be above 0", "use 1");
  if (!(s.initial() > 0))
    report.add("precision.loss_scale.initial", "must be above 0", "use 65536");
  else if (s.initial() < s.minimum())
    report.add("precision.loss_scale.initial",
               fmt::format("is below precision.loss_scale.minimum={}", s.minimum()),
               fmt::format("use at least {}", s.minimum()));
  if (s.initial() > 1e30) report.add("precision.loss_scale.initial", "must be at most 1e30", "use 65536");
  if (s.window() < 1) report.add("precision.loss_scale.window", "must be at least 1 step", "use 1000");
  if (s.hysteresis() < 1) report.add("precision.loss_scale.hysteresis", "must be at least 1", "use 2");
}

void check_optimizer(const spec::Job& job, SpecReport& report) {
  const spec::Optimizer& o = job.optimizer();
  const std::string block = o.has_sgd() ? "optimizer.sgd" : "optimizer.adamw";
  const bool has_rate = o.has_sgd() ? o.sgd().has_learning_rate() : o.adamw().has_learning_rate();
  if (!has_rate)
    report.add(block + ".learning_rate", "is required",
               o.has_sgd() ? "give it, for instance 0.5" : "give it, for instance 1e-3");
  else if (!(peak_rate(o) >= 0))
    report.add(block + ".learning_rate", "must be at least 0", o.has_sgd() ? "use 0.5" : "use 1e-3");
  if (o.has_adamw()) {
    const spec::AdamW& a = o.adamw();
    if (!(a.beta1() >= 0 && a.beta1() < 1))
      report.add("optimizer.adamw.beta1", "must be in [0, 1)", "use 0.9");
    if (!(a.beta2() >= 0 && a.beta2() < 1))
      report.add("optimizer.adamw.beta2", "must be in [0, 1)", "use 0.95");
    if (!(a.epsilon() > 0)) report.add("optimizer.adamw.epsilon", "must be above 0", "use 1e-8");
    if (!(a.weight_decay() >= 0)) report.add("optimizer.adamw.weight_decay", "must be at least 0", "use 0.1");
  }
  if (!(o.clip_grad_norm() >= 0))
    report.add("optimizer.clip_grad_norm", "must be at least 0", "use 1, or 0 for no clipping");
}

void check_schedule(const spec::Job& job, SpecReport& report) {
  const spec::LearningRateSchedule& s = job.learning_rate_schedule();
  const std::string block = "learning_rate_schedule.";
  const bool steps_known = job.training().has_steps() && job.training().steps() >= 0;
  const int64_t steps = job.training().steps();
  const bool constant = s.decay() == spec::Decay::CONSTANT;
  if (s.warmup_steps() < 0)
    report.add(block + "warmup_steps", "must be at least 0", "use 0 to start at the full rate");
  else if (steps_known && s.warmup_steps() > steps)
    report.add(block + "warmup_steps",
               fmt::format("is more than training.steps={}: the full rate would never be reached", steps),
               fmt::format("use at most {}", steps));
  const bool wants_decay_steps = report.given(block + "decay_steps");
  if (wants_decay_steps && s.decay_steps() < 0) {
    report.add(block + "decay_steps", "must be at least 0", "leave it out: training.steps");
  } else if (wants_decay_steps && !constant) {
    if (s.decay_steps() == 0 && steps > 0)
      report.add(block + "decay_steps", "is 0: the rate would never decay but start at its minimum",
                 fmt::format("leave it out: training.steps={}", steps));
    else if (s.decay_steps() < s.warmup_steps())
      report.add(block + "decay_steps",
                 fmt::format("is less than {}warmup_steps={}, which it includes", block, s.warmup_steps()),
                 fmt::format("use at least {}", s.warmup_steps()));
  } else if (wants_decay_steps && s.decay_steps() != steps) {
    report.notice(block + "decay_steps has nothing to do: decay is CONSTANT");
  }
  const double peak = peak_rate(job.optimizer());
  if (!(s.min_learning_rate() >= 0))
    report.add(block + "min_learning_rate", "must be at least 0", "use 0");
  else if (peak >= 0 && s.min_learning_rate() > peak)
    report.add(block + "min_learning_rate",
               fmt::format("is above optimizer.{}.learning_rate={}",
                           job.optimizer().has_sgd() ? "sgd" : "adamw", peak),
               fmt::format("use at most {}", peak));
  else if (constant && s.min_learning_rate() > 0)
    report.notice(block + "min_learning_rate has nothing to do: decay is CONSTANT");
}

void check_training(const spec::Job& job, SpecReport& report) {
  const spec::Training& t = job.training();
  if (!t.has_steps())
    report.add("training.steps", "is required", "give it, for instance 200");
  else if (t.steps() < 0)
    report.add("training.steps", "must be at least 0", "use 200, or 0 to set up and stop");
  if (t.eval_interval() < 0)
    report.add("training.eval_interval", "must be at least 0", "use 50, or 0 for no evaluation");
  if (t.eval_batches() < 0)
    report.add("training.eval_batches", "must be at least 0", "use 8, or 0 for the whole split");
  const bool split = job.data().validation_size() > 0 || job.data().validation_fraction() != 0;
  if (t.eval_interval() > 0 && !split)
    report.add("training.eval_interval",
               "asks for evaluation, but there is neither data.validation nor data.validation_fraction",
               "give data.validation_fraction: 0.01, or use 0");
  if (t.eval_interval() == 0 && t.eval_batches() > 0)
    report.notice("training.eval_batches has nothing to do: training.eval_interval is 0");
}

void check_checkpoint(const spec::Job& job, SpecReport& report) {
  const spec::Checkpoint& c = job.checkpoint();
  if (job.output_dir().empty()) report.add("output_dir", "must not be empty", "use \"runs/quickstart\"");
  if (report.given("checkpoint.dir") && c.dir().empty())
    report.add("checkpoint.dir", "must not be empty", "leave it out: \"checkpoints\" under output_dir");
  if (c.interval() < 0) report.add("checkpoint.interval", "must be at least 0", "use 50, or 0 for none");
  if (c.keep() < 0) report.add("checkpoint.keep", "must be at least 0", "use 2, or 0 to keep all");
  const bool from = c.has_resume_from();
  if (from && c.resume_from().empty())
    report.add("checkpoint.resume_from", "must not be empty", "name a checkpoint's folder, or leave it out");
  if (c.resume() == spec::Resume::NEVER && from)
    report.add("checkpoint.resume_from", "cannot be honoured: checkpoint.resume is NEVER",
               "use resume: REQUIRED");
  if (!c.weights_only()) return;
  if (c.resume() == spec::Resume::NEVER)
    report.add("checkpoint.weights_only", "cannot be honoured: checkpoint.resume is NEVER",
               "use resume: REQUIRED");
  else if (c.resume() == spec::Resume::AUTO && !from)
    report.add("checkpoint.weights_only",
               "with checkpoint.resume=AUTO would forget the optimizer's state at every restart of this run",
               "name the checkpoint in resume_from, or use resume: REQUIRED");
}

}  // namespace octant
