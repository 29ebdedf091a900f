// What a model is, free of any layout: the logical sizes from which names, shapes and numbers of weights
// follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octant {

enum class Family : uint8_t {
  kGpt2,  // LayerNorm, learned positions, GELU, biases (Radford 2019)
  kLlama  // RMSNorm, rotary positions, SwiGLU, no biases (Touvron 2023)
};
std::string_view name_of(Family family);

struct ModelConfig {
  Family family = Family::kGpt2;
  int64_t num_layers = 0;
  int64_t hidden_size = 0;
  int64_t num_attention_heads = 0;
  int64_t num_kv_heads = 0;  // fewer than heads = grouped-query attention (Ainslie 2023)
  int64_t ffn_hidden_size = 0;
  int64_t vocab_size = 0;  // logical; padding belongs to the run
  int64_t sequence_length = 0;
  bool tie_embeddings = false;
  float dropout = 0.0f;
  float norm_epsilon = 1e-5f;
  float rope_base = 10000.0f;
  float init_std = 0.02f;

  int64_t head_size() const { return hidden_size / num_attention_heads; }
};

// Parameters of the whole model, a tied head counted once.
int64_t parameter_count(const ModelConfig& config);

// Floating-point operations of a forward pass per token, by part of the model: matrix products and causal
// attention (half of the square), a multiply-add counted as two. A backward pass costs twice as much.
struct ForwardFlops {
  double embedding = 0;  // 0: a lookup
  double layer = 0;      // one transformer block
  double head = 0;
  double total(int64_t num_layers) const {
    return embedding + layer * static_cast<double>(num_layers) + head;
  }
};
ForwardFlops forward_flops_per_token(const ModelConfig& config);

// What a training step must compute per token, forward and backward: 6 N + 6 L C T. N counts a tied head once,
// and not an untied input table, which is only looked up; 6 L C T is causal attention, half of the full square
// (Narayanan 2021, appendix, with that half). Recomputed activations do not count.
double model_flops_per_token(const ModelConfig& config);

// A named configuration: "gpt2-124m", "llama-7b", "gpt3-175b", …; nullopt for an unknown name.
std::optional<ModelConfig> find_preset(const std::string& name);
std::vector<std::string> preset_names();

}  // namespace octant
