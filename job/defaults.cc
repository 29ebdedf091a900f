#include "job/defaults.h"

#include <charconv>

#include "models/config.h"

namespace octant {
namespace {

// The decimal number that was meant: 1e-5f is 1e-5, not 9.99999974e-06.
double widen(float value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  double wide = static_cast<double>(value);
  if (error == std::errc()) std::from_chars(text, end, wide);
  return wide;
}

#define OCTANT_DEFAULT(block, field, value) \
  if (!(block).has_##field()) (block).set_##field(value)

void expand_preset(spec::Model& m) {
  const auto preset = find_preset(m.preset());
  if (!preset) return;
  OCTANT_DEFAULT(m, family, preset->family == Family::kLlama ? spec::Family::LLAMA : spec::Family::GPT2);
  // Sizes that follow from another one follow the given value, not the preset's.
  if (!m.has_num_attention_heads()) OCTANT_DEFAULT(m, num_kv_heads, preset->num_kv_heads);
  if (!m.has_hidden_size()) OCTANT_DEFAULT(m, ffn_hidden_size, preset->ffn_hidden_size);
  OCTANT_DEFAULT(m, num_layers, preset->num_layers);
  OCTANT_DEFAULT(m, hidden_size, preset->hidden_size);
  OCTANT_DEFAULT(m, num_attention_heads, preset->num_attention_heads);
  OCTANT_DEFAULT(m, vocab_size, preset->vocab_size);
  OCTANT_DEFAULT(m, sequence_length, preset->sequence_length);
  OCTANT_DEFAULT(m, tie_embeddings, preset->tie_embeddings);
  OCTANT_DEFAULT(m, norm_epsilon, widen(preset->norm_epsilon));
  m.clear_preset();
}

void fill_model(spec::Model& m) {
  if (m.has_preset()) expand_preset(m);
  OCTANT_DEFAULT(m, family, spec::Family::GPT2);
  const bool llama = m.family() == spec::Family::LLAMA;
  if (m.num_attention_heads() > 0) OCTANT_DEFAULT(m, num_kv_heads, m.num_attention_heads());
  if (m.hidden_size() > 0 && m.hidden_size() < (int64_t{1} << 40))
    OCTANT_DEFAULT(m, ffn_hidden_size,
                   llama ? (m.hidden_size() * 8 / 3 + 63) / 64 * 64 : 4 * m.hidden_size());
  OCTANT_DEFAULT(m, tie_embeddings, !llama);
  OCTANT_DEFAULT(m, dropout, 0.0);
  OCTANT_DEFAULT(m, norm_epsilon, 1e-5);
  OCTANT_DEFAULT(m, rope_base, 10000.0);
  OCTANT_DEFAULT(m, init_std, 0.02);
}

void fill_source(spec::DataSource& source) {
  if (source.has_text() && source.text().tokenizer().kind_case() == spec::Tokenizer::KIND_NOT_SET)
    source.mutable_text()->mutable_tokenizer()->mutable_bytes();
  OCTANT_DEFAULT(source, weight, 1.0);
}

void fill_data(spec::Data& d) {
  for (auto& source : *d.mutable_train()) fill_source(source);
  for (auto& source : *d.mutable_validation()) fill_source(source);
  OCTANT_DEFAULT(d, validation_fraction, 0.0);
  OCTANT_DEFAULT(d, eod_mask_loss, false);
  OCTANT_DEFAULT(d, on_error, spec::OnError::STOP);
}

void fill_parallel(spec::Parallel& p, std::optional<int> started_ranks) {
  OCTANT_DEFAULT(p, tensor, 1);
  OCTANT_DEFAULT(p, pipeline, 1);
  const int64_t others = int64_t{p.tensor()} * p.pipeline();
  const bool divides = started_ranks && others > 0 && *started_ranks % others == 0;
  OCTANT_DEFAULT(p, data, divides ? static_cast<int>(*started_ranks / others) : 1);
  OCTANT_DEFAULT(p, sequence_parallel, false);
  OCTANT_DEFAULT(p, schedule, spec::Schedule::ONE_F_ONE_B);
  OCTANT_DEFAULT(p, vocab_padding_multiple, 1);
}

void fill_zero(spec::ZeroOptimization& z) {
  OCTANT_DEFAULT(z, stage, 0);
  OCTANT_DEFAULT(z, reduce_bucket_size, 0);
  OCTANT_DEFAULT(z, allgather_bucket_size, 0);
  OCTANT_DEFAULT(z, overlap_comm, true);
  OCTANT_DEFAULT(z, reshard_after_forward, spec::Reshard::AUTO);
  OCTANT_DEFAULT(z, reduce_every, spec::ReduceEvery::AUTO);
}

void fill_precision(spec::Precision& p) {
  OCTANT_DEFAULT(p, compute, spec::NumberType::F32);
  OCTANT_DEFAULT(p, gradients, spec::GradientType::F32);
  if (p.compute() != spec::NumberType::F16 && !p.has_loss_scale()) return;
  spec::LossScale& scale = *p.mutable_loss_scale();
  OCTANT_DEFAULT(scale, minimum, 1.0);
  OCTANT_DEFAULT(scale, initial, 65536.0);
  OCTANT_DEFAULT(scale, window, 1000);
  OCTANT_DEFAULT(scale, hysteresis, 2);
}

void fill_optimizer(spec::Optimizer& o) {
  OCTANT_DEFAULT(o, clip_grad_norm, 1.0);
  if (o.has_sgd()) return;
  spec::AdamW& adamw = *o.mutable_adamw();
  OCTANT_DEFAULT(adamw, beta1, 0.9);
  OCTANT_DEFAULT(adamw, beta2, 0.95);
  OCTANT_DEFAULT(adamw, epsilon, 1e-8);
  OCTANT_DEFAULT(adamw, weight_decay, 0.1);
}

void fill_training(spec::Job& job) {
  spec::Training& t = *job.mutable_training();
  OCTANT_DEFAULT(t, eval_interval, 0);
  OCTANT_DEFAULT(t, eval_batches, 0);
  OCTANT_DEFAULT(t, fail_at_nan, true);
  spec::LearningRateSchedule& s = *job.mutable_learning_rate_schedule();
  OCTANT_DEFAULT(s, warmup_steps, 0);
  OCTANT_DEFAULT(s, decay, spec::Decay::CONSTANT);
  OCTANT_DEFAULT(s, decay_steps, t.steps());
  OCTANT_DEFAULT(s, min_learning_rate, 0.0);
}

void fill_run(spec::Job& job) {
  OCTANT_DEFAULT(*job.mutable_activation_checkpointing(), mode, spec::CheckpointingMode::NONE);
  spec::Checkpoint& c = *job.mutable_checkpoint();
  OCTANT_DEFAULT(c, interval, 0);
  OCTANT_DEFAULT(c, keep, 2);
  OCTANT_DEFAULT(c, resume, spec::Resume::AUTO);
  OCTANT_DEFAULT(c, weights_only, false);
  spec::Device& d = *job.mutable_device();
  OCTANT_DEFAULT(d, kind, spec::DeviceKind::CPU);
  OCTANT_DEFAULT(d, threads_per_rank, 1);
  OCTANT_DEFAULT(d, memory_limit, "none");
  OCTANT_DEFAULT(d, progress_thread, spec::ProgressThread::AUTO);
  OCTANT_DEFAULT(*job.mutable_launch(), transport, spec::Transport::AUTO);
  spec::Debug& debug = *job.mutable_debug();
  OCTANT_DEFAULT(debug, verify_collectives, false);
  OCTANT_DEFAULT(debug, collective_timeout_seconds, 600.0);
}

}  // namespace

spec::Job fill_defaults(const spec::Job& given, std::optional<int> started_ranks) {
  spec::Job job = given;
  OCTANT_DEFAULT(job, name, "octant");
  OCTANT_DEFAULT(job, output_dir, "runs/" + job.name());
  OCTANT_DEFAULT(job, seed, 1234);
  fill_model(*job.mutable_model());
  fill_data(*job.mutable_data());
  fill_parallel(*job.mutable_parallel(), started_ranks);
  fill_zero(*job.mutable_zero_optimization());
  fill_precision(*job.mutable_precision());
  job.mutable_batch();
  fill_optimizer(*job.mutable_optimizer());
  fill_training(job);
  fill_run(job);
  return job;
}

#undef OCTANT_DEFAULT

}  // namespace octant
