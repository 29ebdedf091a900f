#include "models/parameter_specs.h"

#include <fmt/format.h>

#include <cmath>

namespace octant {
namespace {

bool is_gpt2(const ModelConfig& config) {
  return config.family == Family::kGpt2;
}

// A value that every tensor rank holds whole and applies to its own tokens.
ParameterSpec replicated(std::string name, Shape shape, const SpecOptions& options, Init init) {
  return {.name = std::move(name),
          .global = shape,
          .value = kReplicated,
          .gradient = options.sequence_parallel ? kPartial : kReplicated,
          .init = init};
}

ParameterSpec sharded(std::string name, Shape shape, int dim, Init init) {
  return {
      .name = std::move(name), .global = shape, .value = shard(dim), .gradient = shard(dim), .init = init};
}

void add_norm(std::vector<ParameterSpec>& specs, const std::string& name, const ModelConfig& config,
              const SpecOptions& options) {
  specs.push_back(replicated(name + ".weight", {config.hidden_size}, options, {.kind = InitKind::kOnes}));
  if (is_gpt2(config))
    specs.push_back(replicated(name + ".bias", {config.hidden_size}, options, {.kind = InitKind::kZeros}));
}

}  // namespace

ParameterSpec word_table_spec(const ModelConfig& config, const SpecOptions& options, bool head) {
  ParameterSpec spec =
      sharded(head ? "head.weight" : "embedding.word.weight", {config.vocab_size, config.hidden_size}, 0,
              {.kind = InitKind::kNormal, .standard_deviation = config.init_std});
  spec.padded = options.padded_vocab;
  return spec;
}

std::vector<ParameterSpec> embedding_specs(const ModelConfig& config, const SpecOptions& options) {
  if (!is_gpt2(config)) return {};
  return {replicated("embedding.position.weight", {config.sequence_length, config.hidden_size}, options,
                     {.kind = InitKind::kNormal, .standard_deviation = config.init_std})};
}

std::vector<ParameterSpec> layer_specs(const ModelConfig& config, const SpecOptions& options, int64_t layer) {
  const std::string at = fmt::format("layers.{}.", layer);
  const int64_t hidden = config.hidden_size, ffn = config.ffn_hidden_size;
  const int64_t kv = config.num_kv_heads * config.head_size();
  const Init in{.kind = InitKind::kNormal, .standard_deviation = config.init_std};
  // The two projections that add to the residual stream start smaller, by the number of additions (Radford
  // 2019, section 2.3).
  const Init out{
      .kind = InitKind::kNormal,
      .standard_deviation = config.init_std / std::sqrt(2.0f * static_cast<float>(config.num_layers))};
  const Init zeros{.kind = InitKind::kZeros};

  std::vector<ParameterSpec> specs;
  add_norm(specs, at + "attention_norm", config, options);
  specs.push_back(sharded(at + "attention.query.weight", {hidden, hidden}, 0, in));
  specs.push_back(sharded(at + "attention.key.weight", {kv, hidden}, 0, in));
  specs.push_back(sharded(at + "attention.value.weight", {kv, hidden}, 0, in));
  if (is_gpt2(config)) {
    specs.push_back(sharded(at + "attention.query.bias", {hidden}, 0, zeros));
    specs.push_back(sharded(at + "attention.key.bias", {kv}, 0, zeros));
    specs.push_back(sharded(at + "attention.value.bias", {kv}, 0, zeros));
  }
  specs.push_back(sharded(at + "attention.output.weight", {hidden, hidden}, 1, out));
  if (is_gpt2(config)) specs.push_back(replicated(at + "attention.output.bias", {hidden}, options, zeros));
  add_norm(specs, at + "mlp_norm", config, options);
  if (is_gpt2(config)) {
    specs.push_back(sharded(at + "mlp.in.weight", {ffn, hidden}, 0, in));
    specs.push_back(sharded(at + "mlp.in.bias", {ffn}, 0, zeros));
    specs.push_back(sharded(at + "mlp.out.weight", {hidden, ffn}, 1, out));
    specs.push_back(replicated(at + "mlp.out.bias", {hidden}, options, zeros));
  } else {
    specs.push_back(sharded(at + "mlp.gate.weight", {ffn, hidden}, 0, in));
    specs.push_back(sharded(at + "mlp.up.weight", {ffn, hidden}, 0, in));
    specs.push_back(sharded(at + "mlp.down.weight", {hidden, ffn}, 1, out));
  }
  return specs;
}

std::vector<ParameterSpec> head_specs(const ModelConfig& config, const SpecOptions& options) {
  std::vector<ParameterSpec> specs;
  add_norm(specs, "final_norm", config, options);
  return specs;
}

}  // namespace octant
