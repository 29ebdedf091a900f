// The logical parameters of each part of a model, in the order in which they lie in their unit. Names,
// shapes, placements, first values: the one place where they are written down. Fused weights
// (query+key+value, gate+up) follow one another.
#pragma once

#include <vector>

#include "megatron/parameter.h"
#include "models/config.h"

namespace octant {

// How the run cuts the model; it changes placements and padding, never names or global shapes.
struct SpecOptions {
  bool sequence_parallel = false;  // replicated values that see only a rank's tokens have partial gradients
  int64_t padded_vocab = 0;        // rows of the table in this run; 0 = vocab_size
};

ParameterSpec word_table_spec(const ModelConfig& config, const SpecOptions& options, bool head);
std::vector<ParameterSpec> embedding_specs(const ModelConfig& config,
                                           const SpecOptions& options);  // without the table
std::vector<ParameterSpec> layer_specs(const ModelConfig& config, const SpecOptions& options, int64_t layer);
std::vector<ParameterSpec> head_specs(const ModelConfig& config,
                                      const SpecOptions& options);  // without the table

}  // namespace octant
