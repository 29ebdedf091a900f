#include "launch/sources_table.h"

#include <fmt/format.h>

namespace octant {

std::string sources_table(const BatchLoader& data) {
  std::string text = fmt::format("{:>6}  {:>15}  {:>13}  {:>13}  {}\n", "weight", "tokens", "train samples",
                                 "validation", "source");
  for (const SourceSummary& source : data.summary())
    text += fmt::format("{:>6.3f}  {:>15}  {:>13}  {:>13}  {}\n", source.weight, source.tokens,
                        source.train_samples, source.validation_samples, source.path);
  return text;
}

}  // namespace octant
