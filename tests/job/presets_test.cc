#include <gtest/gtest.h>

#include "models/config.h"
#include "test_specs.h"

namespace octant {
namespace {

int64_t count(const std::string& preset) {
  const auto config = find_preset(preset);
  EXPECT_TRUE(config) << preset;
  return config ? parameter_count(*config) : 0;
}

// Parameters of the released weights.
TEST(Presets, PublishedParameterCounts) {
  EXPECT_EQ(count("gpt2-124m"), 124439808);
  EXPECT_EQ(count("gpt2-350m"), 354823168);
  EXPECT_EQ(count("gpt2-774m"), 774030080);
  EXPECT_EQ(count("gpt2-1.5b"), 1557611200);
  EXPECT_EQ(count("llama-7b"), 6738415616);
  EXPECT_EQ(count("llama-13b"), 13015864320);
  EXPECT_EQ(count("llama-33b"), 32528943616);
  EXPECT_EQ(count("llama-65b"), 65285660672);
  EXPECT_NEAR(static_cast<double>(count("gpt3-175b")), 174.6e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(count("gpt3-13b")), 12.85e9, 0.1e9);
}

TEST(Presets, EveryOneMakesAJob) {
  for (const std::string& name : preset_names()) {
    const Validation v = validate_small({"model.preset=" + name});
    ASSERT_TRUE(v.job) << name << ": " << format_errors(v.errors);
    EXPECT_EQ(parameter_count(v.job->model), count(name)) << name;
    EXPECT_FALSE(v.job->effective.model().has_preset());
  }
}

TEST(Presets, FieldsBesideItOverrideIt) {
  const Validation v =
      validate_small({"model.preset=llama-tiny", "model.num_attention_heads=8", "model.num_layers=5"});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  EXPECT_EQ(v.job->model.family, Family::kLlama);
  EXPECT_EQ(v.job->model.num_layers, 5);
  EXPECT_EQ(v.job->model.num_attention_heads, 8);
  EXPECT_EQ(v.job->model.num_kv_heads, 8);  // follows the given heads
  EXPECT_EQ(v.job->model.hidden_size, 32);
}

TEST(Presets, AWiderModelGetsItsOwnFfn) {
  EXPECT_EQ(validate_small({"model.hidden_size=64"}).job->model.ffn_hidden_size, 256);
  EXPECT_EQ(validate_small({"model.preset=llama-tiny", "model.hidden_size=64"}).job->model.ffn_hidden_size,
            192);
}

TEST(Flops, SixTimesTheParametersAndTheAttention) {
  // Narayanan 2021 (2104.04473): a forward pass is 24·s·h²·(1 + s/6h) a layer without the causal half, plus
  // 2·V·h.
  const ModelConfig m = *find_preset("gpt3-175b");
  const double h = 12288, s = 2048;
  const ForwardFlops flops = forward_flops_per_token(m);
  EXPECT_DOUBLE_EQ(flops.layer, 24 * h * h + 2 * s * h);
  EXPECT_DOUBLE_EQ(flops.head, 2 * 50257 * h);
  EXPECT_EQ(flops.embedding, 0);
}

}  // namespace
}  // namespace octant
