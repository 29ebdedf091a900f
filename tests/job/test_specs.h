// A spec that is right, for tests that break one thing in it.
#pragma once

#include <string>
#include <vector>

#include "job/load.h"
#include "job/validate.h"

namespace octant {

inline const std::string kSmallSpec = R"(
model { preset: "tiny" }
data { train { text { path: "corpus.txt" } } }
batch { global_batch_size: 8 }
optimizer { adamw { learning_rate: 1e-3 } }
training { steps: 10 }
)";

inline Validation validate_small(const std::vector<std::string>& overrides,
                                 std::optional<int> ranks = std::nullopt) {
  LoadedSpec loaded = parse_spec_text(kSmallSpec, "small.pbtxt");
  for (const std::string& assignment : overrides) apply_override(assignment, loaded);
  return validate(loaded, ranks);
}

inline std::string errors_of(const std::vector<std::string>& overrides,
                             std::optional<int> ranks = std::nullopt) {
  return format_errors(validate_small(overrides, ranks).errors);
}

inline std::string notices_of(const Validation& validation) {
  std::string text;
  if (validation.job)
    for (const std::string& line : validation.job->notices) text += line + "\n";
  return text;
}

}  // namespace octant
