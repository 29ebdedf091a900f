#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "job/rules.h"

namespace octant {
namespace {

// Token ids and dims travel as 32-bit numbers in kernels; no published model comes near.
constexpr int64_t kLargestSize = (int64_t{1} << 31) - 1;
constexpr double kLargestCount = 4e18;

bool check_size(const char* field, bool has, int64_t value, const char* example, SpecReport& report) {
  const std::string path = std::string("model.") + field;
  if (!has) {
    report.add(path, "is required", fmt::format("give it, for instance {}, or name a preset", example));
    return false;
  }
  if (value < 1) {
    report.add(path, "must be at least 1", fmt::format("use {}", example));
    return false;
  }
  if (value > kLargestSize) {
    report.add(path, fmt::format("must be at most {}", kLargestSize), fmt::format("use {}", example));
    return false;
  }
  return !report.reported(path);
}

void check_heads(const spec::Model& m, SpecReport& report) {
  const int64_t hidden = m.hidden_size(), heads = m.num_attention_heads(), kv_heads = m.num_kv_heads();
  if (hidden % heads != 0) {
    const int64_t below = hidden / heads * heads;
    report.add("model.hidden_size", fmt::format("is not a multiple of model.num_attention_heads={}", heads),
               below > 0 ? fmt::format("use {} or {}", below, below + heads) : fmt::format("use {}", heads));
  } else if (m.family() == spec::Family::LLAMA && hidden / heads % 2 != 0) {
    report.add(
        "model.hidden_size",
        fmt::format(
            "gives an odd head size {} (hidden_size / num_attention_heads={}); rotary positions turn pairs",
            hidden / heads, heads),
        fmt::format("use {} or {}", std::max<int64_t>(hidden / heads - 1, 2) * heads,
                    (hidden / heads + 1) * heads));
  }
  if (kv_heads < 1) return;
  if (heads % kv_heads != 0) {
    std::string fits;
    for (int64_t k = 1; k <= heads && fits.size() < 60; ++k)
      if (heads % k == 0) fits += (fits.empty() ? "" : ", ") + std::to_string(k);
    report.add("model.num_kv_heads", fmt::format("does not divide model.num_attention_heads={}", heads),
               "use one of " + fits);
  }
}

}  // namespace

void check_model(const spec::Job& job, SpecReport& report) {
  const spec::Model& m = job.model();
  bool sizes = check_size("num_layers", m.has_num_layers(), m.num_layers(), "12", report);
  const bool hidden = check_size("hidden_size", m.has_hidden_size(), m.hidden_size(), "768", report);
  const bool heads =
      check_size("num_attention_heads", m.has_num_attention_heads(), m.num_attention_heads(), "12", report);
  if (m.has_num_kv_heads() || heads)
    sizes &=
        check_size("num_kv_heads", m.has_num_kv_heads(), m.num_kv_heads(), "num_attention_heads", report);
  if (m.has_ffn_hidden_size() || hidden)
    sizes &= check_size("ffn_hidden_size", m.has_ffn_hidden_size(), m.ffn_hidden_size(), "4 × hidden_size",
                        report);
  sizes &= check_size("vocab_size", m.has_vocab_size(), m.vocab_size(), "257", report);
  sizes &= check_size("sequence_length", m.has_sequence_length(), m.sequence_length(), "1024", report);
  if (hidden && heads) check_heads(m, report);

  if (!(m.dropout() >= 0 && m.dropout() < 1))
    report.add("model.dropout", "must be in [0, 1)", "use 0 or 0.1");
  if (!(m.norm_epsilon() > 0)) report.add("model.norm_epsilon", "must be above 0", "use 1e-5");
  if (!(m.rope_base() > 1)) report.add("model.rope_base", "must be above 1", "use 10000");
  if (!(m.init_std() > 0)) report.add("model.init_std", "must be above 0", "use 0.02");
  if (m.family() == spec::Family::GPT2 && report.given("model.rope_base"))
    report.notice("model.rope_base has nothing to do: GPT2 has learned positions");

  if (sizes && hidden && heads) {
    const double C = static_cast<double>(m.hidden_size()), F = static_cast<double>(m.ffn_hidden_size());
    const double V = static_cast<double>(m.vocab_size()), T = static_cast<double>(m.sequence_length());
    const double count = static_cast<double>(m.num_layers()) * (4 * C * C + 3 * C * F) + (2 * V + T) * C;
    if (count > kLargestCount)
      report.add("model.num_layers",
                 fmt::format("makes a model of {:.1e} parameters, past what 64 bits count", count),
                 "use smaller sizes");
  }
}

ModelConfig model_config(const spec::Model& m) {
  ModelConfig config;
  config.family = m.family() == spec::Family::LLAMA ? Family::kLlama : Family::kGpt2;
  config.num_layers = m.num_layers();
  config.hidden_size = m.hidden_size();
  config.num_attention_heads = m.num_attention_heads();
  config.num_kv_heads = m.num_kv_heads();
  config.ffn_hidden_size = m.ffn_hidden_size();
  config.vocab_size = m.vocab_size();
  config.sequence_length = m.sequence_length();
  config.tie_embeddings = m.tie_embeddings();
  config.dropout = static_cast<float>(m.dropout());
  config.norm_epsilon = static_cast<float>(m.norm_epsilon());
  config.rope_base = static_cast<float>(m.rope_base());
  config.init_std = static_cast<float>(m.init_std());
  return config;
}

}  // namespace octant
