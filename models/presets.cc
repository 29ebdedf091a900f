// Published shapes. GPT-2: Radford 2019 (the released sizes); GPT-3: Brown 2020, table 2.1, where "1.3B" has
// 24 heads of 128 on a hidden size of 2048 and "13B" a hidden size of 5140: neither divides, so the usual 16
// heads and 5120 stand here; LLaMA: Touvron 2023, table 2.
#include "models/config.h"

namespace octant {
namespace {

struct Preset {
  const char* name;
  Family family;
  int64_t layers, hidden, heads, kv_heads, ffn, vocab, sequence;
  bool tied;
  float norm_epsilon;
};

constexpr Family kGpt2 = Family::kGpt2;
constexpr Family kLlama = Family::kLlama;

constexpr Preset kPresets[] = {
    {"tiny", kGpt2, 2, 32, 4, 4, 128, 257, 16, true, 1e-5f},
    {"gpt2-124m", kGpt2, 12, 768, 12, 12, 3072, 50257, 1024, true, 1e-5f},
    {"gpt2-350m", kGpt2, 24, 1024, 16, 16, 4096, 50257, 1024, true, 1e-5f},
    {"gpt2-774m", kGpt2, 36, 1280, 20, 20, 5120, 50257, 1024, true, 1e-5f},
    {"gpt2-1.5b", kGpt2, 48, 1600, 25, 25, 6400, 50257, 1024, true, 1e-5f},
    {"gpt3-1.3b", kGpt2, 24, 2048, 16, 16, 8192, 50257, 2048, true, 1e-5f},
    {"gpt3-6.7b", kGpt2, 32, 4096, 32, 32, 16384, 50257, 2048, true, 1e-5f},
    {"gpt3-13b", kGpt2, 40, 5120, 40, 40, 20480, 50257, 2048, true, 1e-5f},
    {"gpt3-175b", kGpt2, 96, 12288, 96, 96, 49152, 50257, 2048, true, 1e-5f},
    {"llama-tiny", kLlama, 2, 32, 4, 2, 128, 257, 16, false, 1e-5f},
    {"llama-7b", kLlama, 32, 4096, 32, 32, 11008, 32000, 2048, false, 1e-6f},
    {"llama-13b", kLlama, 40, 5120, 40, 40, 13824, 32000, 2048, false, 1e-6f},
    {"llama-33b", kLlama, 60, 6656, 52, 52, 17920, 32000, 2048, false, 1e-6f},
    {"llama-65b", kLlama, 80, 8192, 64, 64, 22016, 32000, 2048, false, 1e-5f},
};

}  // namespace

std::optional<ModelConfig> find_preset(const std::string& name) {
  for (const Preset& p : kPresets) {
    if (name != p.name) continue;
    ModelConfig config;
    config.family = p.family;
    config.num_layers = p.layers;
    config.hidden_size = p.hidden;
    config.num_attention_heads = p.heads;
    config.num_kv_heads = p.kv_heads;
    config.ffn_hidden_size = p.ffn;
    config.vocab_size = p.vocab;
    config.sequence_length = p.sequence;
    config.tie_embeddings = p.tied;
    config.norm_epsilon = p.norm_epsilon;
    return config;
  }
  return std::nullopt;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& p : kPresets) names.emplace_back(p.name);
  return names;
}

}  // namespace octant
