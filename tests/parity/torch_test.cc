// The same training by PyTorch: tests/parity/torch/reference.json, made by make_reference.py beside it, holds
// the sequences, ten losses and ten gradient norms before clipping. The first weights are not in the file:
// both sides make them from the seed and the logical names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/cpu/cpu_backend.h"
#include "job/load.h"
#include "job/validate.h"
#include "train/engine.h"

namespace octant {
namespace {

using nlohmann::json;

const json& reference() {
  static const json file = [] {
    std::ifstream in(OCTANT_SOURCE_DIR "/tests/parity/torch/reference.json");
    return json::parse(in);
  }();
  return file;
}

struct Layout {
  int ranks;
  json parallel;
  json zero;
  int64_t accumulation;
};

Layout one_rank() {
  return {1, json::object(), {{"stage", 0}}, 1};
}
Layout all_axes() {
  return {8, {{"data", 2}, {"tensor", 2}, {"pipeline", 2}}, {{"stage", 2}}, 2};
}

Job make_job(const json& run, const Layout& layout) {
  const json& step = reference()["data"][0];
  const json spec = {
      {"name", "torch"},
      {"output_dir", "unused"},
      {"seed", reference()["seed"]},
      {"model", run["model"]},
      {"optimizer", run["optimizer"]},
      {"data", {{"train", {{{"text", {{"path", "unused"}, {"tokenizer", {{"bytes", json::object()}}}}}}}}}},
      {"parallel", layout.parallel},
      {"zero_optimization", layout.zero},
      {"precision", {{"compute", "F32"}}},
      {"batch",
       {{"global_batch_size", step["sequences"].size()},
        {"gradient_accumulation_steps", layout.accumulation}}},
      {"training", {{"steps", reference()["data"].size()}}}};
  const Validation result = validate(parse_spec_json(spec.dump(1), "torch.json"));
  if (!result.job) throw UserError(format_errors(result.errors));
  return *result.job;
}

// The part of one data rank: sequence i of the global batch belongs to micro-batch i / (data · micro).
Batch make_batch(Device& device, const Job& job, int data_rank, int64_t step) {
  const json& data = reference()["data"][static_cast<size_t>(step)];
  const int64_t micro = job.batch.micro, T = job.model.sequence_length;
  Batch batch;
  for (int64_t m = 0; m < job.batch.accumulation; ++m) {
    std::vector<int32_t> tokens, targets;
    std::vector<uint8_t> mask;
    std::vector<int64_t> ids;
    for (int64_t b = 0; b < micro; ++b) {
      ids.push_back((m * job.parallel.data + data_rank) * micro + b);
      const json& sequence = data["sequences"][static_cast<size_t>(ids.back())];
      const std::string& counts =
          data["masks"][static_cast<size_t>(ids.back())].get_ref<const std::string&>();
      for (size_t t = 0; t < static_cast<size_t>(T); ++t) {
        tokens.push_back(sequence[t].get<int32_t>());
        targets.push_back(sequence[t + 1].get<int32_t>());
        mask.push_back(counts[t] == '1' ? 1 : 0);
        batch.counted_tokens += mask.back();
      }
    }
    const auto put = [&](const void* from, const Shape& shape, DType dtype) {
      Tensor tensor = device.allocate(shape, dtype, MemoryKind::kData);
      device.ops().copy_from_host(device.compute(), tensor.data(), from, tensor.bytes());
      return tensor;
    };
    MicroBatch at;
    at.tokens = put(tokens.data(), {micro, T}, DType::kI32);
    at.targets = put(targets.data(), {micro, T}, DType::kI32);
    at.mask = put(mask.data(), {micro, T}, DType::kU8);
    at.sample_ids = put(ids.data(), {micro}, DType::kI64);
    at.step = step;
    batch.micro_batches.push_back(std::move(at));
  }
  return batch;
}

std::vector<StepReport> train(const Job& job, int ranks) {
  std::vector<StepReport> reports;
  const WorldResult result = threads::run(
      ranks, {.collective_timeout_seconds = 120},
      [](int) { return std::make_unique<Device>(cpu::make_backend({.threads = 1}), 0); },
      [&](World& world) {
        TrainingEngine engine(job, world, TrainingEngine::Purpose::kTrain);
        engine.initialize();
        for (int64_t step = 0; step < job.training.steps; ++step) {
          const Batch batch = make_batch(world.device(), job, engine.groups().at.data, step);
          const StepReport report = engine.step(batch, step, job.learning_rate.peak);
          if (world.rank() == 0) reports.push_back(report);
        }
      });
  EXPECT_EQ(result.exit_code, 0) << result.message;
  return reports;
}

// 1e-5 at the first step, growing evenly to 1e-4 at the last: round-off feeds on itself through the weights.
void expect_agreement(const std::string& name, const Layout& layout) {
  bool found = false;
  for (const json& run : reference()["runs"]) {
    if (run["name"] != name) continue;
    found = true;
    const std::vector<StepReport> reports = train(make_job(run, layout), layout.ranks);
    const size_t steps = run["losses"].size();
    ASSERT_EQ(reports.size(), steps);
    ASSERT_EQ(steps, 10u);
    double worst_loss = 0, worst_norm = 0;
    for (size_t step = 0; step < steps; ++step) {
      const double tolerance =
          1e-5 + (1e-4 - 1e-5) * static_cast<double>(step) / static_cast<double>(steps - 1);
      const double loss = run["losses"][step], norm = run["gradient_norms"][step];
      ASSERT_TRUE(reports[step].loss.has_value());
      EXPECT_NEAR(*reports[step].loss, loss, tolerance * loss) << name << ", loss of step " << step + 1;
      EXPECT_NEAR(reports[step].gradient_norm, norm, tolerance * norm)
          << name << ", norm of step " << step + 1;
      worst_loss = std::max(worst_loss, std::abs(*reports[step].loss / loss - 1));
      worst_norm = std::max(worst_norm, std::abs(reports[step].gradient_norm / norm - 1));
    }
    testing::Test::RecordProperty("worst_loss", fmt::format("{:.1e}", worst_loss));
    testing::Test::RecordProperty("worst_norm", fmt::format("{:.1e}", worst_norm));
  }
  ASSERT_TRUE(found) << "reference.json has no run " << name;
}

TEST(Torch, Gpt2AdamwOneRank) {
  expect_agreement("GPT2 ADAMW", one_rank());
}
TEST(Torch, Gpt2AdamwAllAxes) {
  expect_agreement("GPT2 ADAMW", all_axes());
}
TEST(Torch, Gpt2SgdOneRank) {
  expect_agreement("GPT2 SGD", one_rank());
}
TEST(Torch, Gpt2SgdAllAxes) {
  expect_agreement("GPT2 SGD", all_axes());
}
TEST(Torch, LlamaAdamwOneRank) {
  expect_agreement("LLAMA ADAMW", one_rank());
}
TEST(Torch, LlamaAdamwAllAxes) {
  expect_agreement("LLAMA ADAMW", all_axes());
}
TEST(Torch, LlamaSgdOneRank) {
  expect_agreement("LLAMA SGD", one_rank());
}
TEST(Torch, LlamaSgdAllAxes) {
  expect_agreement("LLAMA SGD", all_axes());
}

}  // namespace
}  // namespace octant
