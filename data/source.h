// Opens what a job spec names as a source of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/token_source.h"

namespace octant {

enum class SourceKind : uint8_t { kText, kIndexed };

struct SourceConfig {
  SourceKind kind = SourceKind::kText;
  std::string path;  // kText: the file, read by the byte tokenizer; kIndexed: the prefix of .bin and .idx
  std::string mask_prefix;  // kIndexed only; empty = every token counts
  double weight = 1.0;      // of the training blend; 0 = never opened
};

// Throws DataError when a file is missing, empty, cut short or foreign.
std::unique_ptr<TokenSource> open_source(const SourceConfig& config);

}  // namespace octant
