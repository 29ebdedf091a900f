#include "data/sample_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace octant {

namespace {
constexpr size_t kReported = 20;
}

std::string SampleReader::describe(const TokenSource& source, int64_t token) const {
  const TokenPlace place = source.place_of(token);
  return fmt::format(
      "{}: document {}, position {} (both from 0): token id {} is outside the vocabulary of {} ids (0 to {})",
      place.file, place.document, place.position, source.id_at(token), options_.vocab_size,
      options_.vocab_size - 1);
}

int64_t SampleReader::read(const TokenSource& source, int64_t window, const Row& row,
                           std::vector<int32_t>& scratch) const {
  const auto length = static_cast<size_t>(options_.sequence_length);
  const int64_t begin = window * options_.sequence_length;
  scratch.resize(length + 1);
  source.tokens(begin, scratch);

  const auto bad = std::find_if(scratch.begin(), scratch.end(),
                                [this](int32_t id) { return id < 0 || id >= options_.vocab_size; });
  if (bad != scratch.end()) {
    const std::string reason = describe(source, begin + (bad - scratch.begin()));
    if (options_.bad_ids == BadIds::kStop)
      throw DataError(reason +
                      "; use the vocabulary the data were written with, or data.on_error: SKIP to leave such "
                      "samples out");
    const std::lock_guard lock(mutex_);
    if (skipped_.emplace(&source, window).second && first_skipped_.size() < kReported)
      first_skipped_.push_back(reason);
    fill(row);
    return 0;
  }

  std::copy_n(scratch.begin(), length, row.tokens.begin());
  std::copy_n(scratch.begin() + 1, length, row.targets.begin());
  if (source.has_mask())
    source.mask(begin + 1, row.mask);
  else
    std::fill(row.mask.begin(), row.mask.end(), uint8_t{1});
  if (options_.eod_mask_loss)
    for (size_t t = 0; t < length; ++t)
      if (row.tokens[t] == options_.eod_id) row.mask[t] = 0;
  return std::count(row.mask.begin(), row.mask.end(), uint8_t{1});
}

void SampleReader::fill(const Row& row) {
  std::fill(row.tokens.begin(), row.tokens.end(), 0);
  std::fill(row.targets.begin(), row.targets.end(), 0);
  std::fill(row.mask.begin(), row.mask.end(), uint8_t{0});
}

SkippedSamples SampleReader::skipped() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<int64_t>(skipped_.size()), first_skipped_};
}

}  // namespace octant
