#include "tests/parity/harness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "core/math/philox.h"
#include "job/load.h"
#include "job/validate.h"
#include "train/setup.h"

namespace octant::parity {

std::string Layout::str() const {
  return fmt::format(
      "data {} tensor {} pipeline {} stage {} accumulation {}{}{}{}{} reduce_every {} reshard {} {} buckets "
      "{} "
      "{}",
      data, tensor, pipeline, stage, accumulation, sequence_parallel ? " sequence-parallel" : "",
      recompute ? " recompute" : "", overlap ? "" : " no-overlap", progress_thread ? " progress-thread" : "",
      reduce_every, reshard, schedule, reduce_bucket, allgather_bucket);
}

Job make_job(const Case& model, const Layout& layout) {
  const bool gpt2 = model.family == "GPT2";
  std::string text = fmt::format(
      "name: 'parity' output_dir: 'unused' seed: {}\n"
      "model {{ family: {} num_layers: {} hidden_size: {} num_attention_heads: {} num_kv_heads: {} "
      "ffn_hidden_size: {} vocab_size: {} "
      "sequence_length: {} tie_embeddings: {} dropout: {} }}\n"
      "data {{ train {{ text {{ path: 'unused' tokenizer {{ bytes {{}} }} }} }} }}\n"
      "parallel {{ data: {} tensor: {} pipeline: {} sequence_parallel: {} schedule: {} "
      "vocab_padding_multiple: {} }}\n"
      "zero_optimization {{ stage: {} overlap_comm: {} reduce_every: {} reshard_after_forward: {}",
      model.seed, model.family, model.layers, model.hidden,
      model.heads ? model.heads
      : gpt2      ? 4
                  : 8,
      model.kv_heads,
      model.ffn ? model.ffn
      : gpt2    ? 128
                : 88,
      kVocabulary, kSequence, gpt2, model.dropout, layout.data, layout.tensor, layout.pipeline,
      layout.sequence_parallel, layout.schedule, layout.vocab_padding_multiple, layout.stage, layout.overlap,
      layout.reduce_every, layout.reshard);
  if (layout.reduce_bucket) text += fmt::format(" reduce_bucket_size: {}", layout.reduce_bucket);
  if (layout.allgather_bucket) text += fmt::format(" allgather_bucket_size: {}", layout.allgather_bucket);
  text += fmt::format(
      " }}\nprecision {{ {} }}\nbatch {{ global_batch_size: {} gradient_accumulation_steps: {} }}\n"
      "optimizer {{ {} clip_grad_norm: {} }}\nactivation_checkpointing {{ mode: {} }}\ntraining {{ steps: {} "
      "}}\n"
      "learning_rate_schedule {{ decay: CONSTANT }}\ncheckpoint {{ interval: 0 }}\n"
      "device {{ progress_thread: {} }}\n",
      model.precision, model.global_batch, layout.accumulation, model.optimizer, model.clip,
      layout.recompute ? "FULL" : "NONE", model.steps, layout.progress_thread ? "ON" : "OFF");
  const Validation result = validate(parse_spec_text(text, "parity.pbtxt"));
  if (!result.job) throw UserError(format_errors(result.errors) + "\n" + text);
  return *result.job;
}

Batch make_batch(Device& device, const Case& model, const Layout& layout, int data_rank, int64_t step) {
  const int64_t micro = model.global_batch / layout.data / layout.accumulation;
  Batch batch;
  for (int m = 0; m < layout.accumulation; ++m) {
    std::vector<int32_t> tokens, targets;
    std::vector<uint8_t> mask;
    std::vector<int64_t> ids;
    for (int64_t b = 0; b < micro; ++b) {
      const int64_t id = (m * layout.data + data_rank) * micro + b;
      ids.push_back(id);
      const uint64_t key = mix64(static_cast<uint64_t>(step * 1000 + id));
      // Sequence 3 counts nothing, sequence 5 three tokens, others between some and all.
      const int64_t keep = id == 3 ? 0 : id == 5 ? 3 : 1 + random_u32(key, 999) % kSequence;
      int32_t token = static_cast<int32_t>(random_u32(key, 0) % kVocabulary);
      for (int64_t t = 0; t < kSequence; ++t) {
        tokens.push_back(token);
        token = random_u32(key, static_cast<uint64_t>(t) + 1) % 3 == 0
                    ? static_cast<int32_t>(random_u32(key, static_cast<uint64_t>(t) + 100) % kVocabulary)
                    : (token * 7 + 3) % static_cast<int32_t>(kVocabulary);
        targets.push_back(token);
        mask.push_back(t < keep ? 1 : 0);
        batch.counted_tokens += mask.back();
      }
    }
    MicroBatch at;
    const auto put = [&](const void* data, const Shape& shape, DType dtype) {
      Tensor tensor = device.allocate(shape, dtype, MemoryKind::kData);
      device.ops().copy_from_host(device.compute(), tensor.data(), data, tensor.bytes());
      return tensor;
    };
    at.tokens = put(tokens.data(), {micro, kSequence}, DType::kI32);
    at.targets = put(targets.data(), {micro, kSequence}, DType::kI32);
    at.mask = put(mask.data(), {micro, kSequence}, DType::kU8);
    at.sample_ids = put(ids.data(), {micro}, DType::kI64);
    at.step = step;
    batch.micro_batches.push_back(std::move(at));
  }
  return batch;
}

namespace {

std::mutex outcome_mutex;

// Places a flat run of a box into the global tensor, element by element: the naive inverse of every cut.
void scatter(const StatePiece& piece, const float* from, std::vector<float>& global) {
  global.resize(static_cast<size_t>(piece.global.elements()));
  const int64_t inner = piece.box_size.inner();
  for (int64_t i = piece.begin; i < piece.end; ++i) {
    const int64_t row = piece.box_offset[0] + i / inner;
    const int64_t column = (piece.global.dims() > 1 ? piece.box_offset[1] : 0) + i % inner;
    global[static_cast<size_t>(row * piece.global.inner() + column)] = from[i - piece.begin];
  }
}

}  // namespace

void train_rank(World& world, const Job& job, const Case& model, const Layout& layout, Outcome& outcome) {
  TrainingEngine engine(job, world, TrainingEngine::Purpose::kTrain);
  engine.initialize();
  world.traffic().clear();
  std::vector<StepReport> reports;
  const double rate = job.learning_rate.peak;
  for (int step = 0; step < model.steps; ++step)
    reports.push_back(
        engine.step(make_batch(world.device(), model, layout, engine.groups().at.data, step), step, rate));
  const std::lock_guard lock(outcome_mutex);
  outcome.peak_live.resize(static_cast<size_t>(world.size()));
  outcome.memory.resize(static_cast<size_t>(world.size()));
  outcome.traffic.resize(static_cast<size_t>(world.size()));
  outcome.peak_live[static_cast<size_t>(world.rank())] = engine.peak_live_micro_batches();
  outcome.memory[static_cast<size_t>(world.rank())] = world.device().ledger();
  outcome.traffic[static_cast<size_t>(world.rank())] = world.traffic();
  for (const StatePiece& piece : engine.state().pieces_to_write(engine.groups().at.pipeline == 0)) {
    scatter(piece, piece.weight, outcome.weights[piece.name]);
    if (piece.exp_avg != nullptr) scatter(piece, piece.exp_avg, outcome.exp_avg[piece.name]);
  }
  if (world.rank() != 0) return;
  for (const StepReport& report : reports) {
    outcome.losses.push_back(report.loss.value_or(NAN));
    outcome.norms.push_back(report.gradient_norm);
    outcome.loss_scales.push_back(report.loss_scale);
  }
}

Outcome train(const Case& model, const Layout& layout) {
  Outcome outcome;
  const Job job = make_job(model, layout);
  const WorldResult result = threads::run(
      layout.ranks(), WorldOptions{}, device_factory(job, placement_of(job, layout.ranks(), false)),
      [&](World& world) { train_rank(world, job, model, layout, outcome); });
  EXPECT_EQ(result.exit_code, 0) << layout.str() << ": " << result.message;
  return outcome;
}

void expect_close(const Outcome& expected, const Outcome& actual, double tolerance, const std::string& what) {
  ASSERT_EQ(expected.losses.size(), actual.losses.size()) << what;
  for (size_t step = 0; step < expected.losses.size(); ++step) {
    EXPECT_NEAR(actual.losses[step], expected.losses[step], tolerance * std::abs(expected.losses[step]))
        << what << ", loss of step " << step + 1;
    EXPECT_NEAR(actual.norms[step], expected.norms[step], tolerance * expected.norms[step])
        << what << ", norm of step " << step + 1;
  }
  ASSERT_EQ(expected.weights.size(), actual.weights.size()) << what;
  float largest = 0;
  for (const auto& [name, values] : expected.weights)
    for (float value : values) largest = std::max(largest, std::abs(value));
  for (const auto& [name, values] : expected.weights) {
    const auto found = actual.weights.find(name);
    ASSERT_NE(found, actual.weights.end()) << what << " lacks " << name;
    ASSERT_EQ(found->second.size(), values.size()) << what << ", " << name;
    double worst = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double difference =
          std::abs(static_cast<double>(found->second[i]) - static_cast<double>(values[i]));
      worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    }
    EXPECT_LE(worst, tolerance * static_cast<double>(largest)) << what << ", " << name;
  }
}

void expect_same_bits(const Outcome& expected, const Outcome& actual, const std::string& what) {
  const auto same = [](const auto& a, const auto& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
  };
  EXPECT_TRUE(same(expected.losses, actual.losses)) << what << ": losses differ";
  EXPECT_TRUE(same(expected.norms, actual.norms)) << what << ": norms differ";
  EXPECT_TRUE(same(expected.loss_scales, actual.loss_scales)) << what << ": loss scales differ";
  ASSERT_EQ(expected.weights.size(), actual.weights.size()) << what;
  for (const auto& [name, values] : expected.weights) {
    const auto found = actual.weights.find(name);
    ASSERT_NE(found, actual.weights.end()) << what << " lacks " << name;
    EXPECT_TRUE(same(values, found->second)) << what << ": " << name << " differs";
  }
  ASSERT_EQ(expected.exp_avg.size(), actual.exp_avg.size()) << what;
  for (const auto& [name, values] : expected.exp_avg) {
    const auto found = actual.exp_avg.find(name);
    ASSERT_NE(found, actual.exp_avg.end()) << what << " lacks the moments of " << name;
    EXPECT_TRUE(same(values, found->second)) << what << ": the moments of " << name << " differ";
  }
}

}  // namespace octant::parity
