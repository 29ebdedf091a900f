#include "models/config.h"

namespace octant {

std::string_view name_of(Family family) {
  switch (family) {
    case Family::kGpt2:
      return "GPT2";
    case Family::kLlama:
      return "LLAMA";
  }
  return "?";
}

int64_t parameter_count(const ModelConfig& m) {
  const int64_t C = m.hidden_size, F = m.ffn_hidden_size, V = m.vocab_size, T = m.sequence_length;
  const int64_t KD = m.num_kv_heads * m.head_size();
  const int64_t head = m.tie_embeddings ? 0 : V * C;
  if (m.family == Family::kLlama) {
    const int64_t layer = 2 * C + 2 * C * C + 2 * KD * C + 3 * C * F;
    return V * C + m.num_layers * layer + C + head;
  }
  const int64_t norms = 2 * 2 * C;
  const int64_t attention = (C * C + C) + 2 * (KD * C + KD) + (C * C + C);
  const int64_t mlp = (F * C + F) + (C * F + C);
  return V * C + T * C + m.num_layers * (norms + attention + mlp) + 2 * C + head;
}

ForwardFlops forward_flops_per_token(const ModelConfig& m) {
  const double C = static_cast<double>(m.hidden_size), F = static_cast<double>(m.ffn_hidden_size);
  const double KD = static_cast<double>(m.num_kv_heads * m.head_size());
  const double T = static_cast<double>(m.sequence_length), V = static_cast<double>(m.vocab_size);
  const double mlp_matrices = m.family == Family::kLlama ? 3 : 2;
  ForwardFlops flops;
  // Scores and weighted values are 2·C·T each over the full square, of which a causal row needs half.
  flops.layer = 2 * (2 * C * C + 2 * KD * C + mlp_matrices * C * F) + 2 * C * T;
  flops.head = 2 * C * V;
  return flops;
}

double model_flops_per_token(const ModelConfig& m) {
  const int64_t lookup = m.tie_embeddings ? 0 : m.vocab_size * m.hidden_size;
  return 6.0 * static_cast<double>(parameter_count(m) - lookup) +
         6.0 * static_cast<double>(m.num_layers * m.hidden_size * m.sequence_length);
}

}  // namespace octant
