#include "data/windows.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"

namespace octant {

WindowSplit split_windows(const TokenSource& source, int64_t sequence_length, double validation_fraction) {
  const int64_t tokens = source.total_tokens();
  const int64_t windows = tokens > 0 ? (tokens - 1) / sequence_length : 0;
  if (windows < 1)
    throw DataError(
        fmt::format("{}: holds {} tokens, but one sample needs {} (model.sequence_length + 1); use more data "
                    "or a shorter "
                    "sequence",
                    source.path(), tokens, sequence_length + 1));
  // A product such as 0.1 · 30 must not count as a little more than 3.
  const auto validation =
      static_cast<int64_t>(std::ceil(validation_fraction * static_cast<double>(windows) * (1 - 1e-12)));
  if (validation >= windows)
    throw DataError(fmt::format(
        "{}: data.validation_fraction {} takes {} of its {} samples and leaves none to train on; use more "
        "data, a shorter sequence, or a validation source",
        source.path(), validation_fraction, validation, windows));
  return {windows - validation, validation};
}

}  // namespace octant
