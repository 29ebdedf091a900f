// Reads one sample into host memory and decides which of its targets count.
//
//   SampleReader reader({.sequence_length = 128, .vocab_size = 257});
//   reader.read(source, window, row, scratch);            // row: T tokens, T targets, T mask bytes
//
// A target counts where the source's mask says so and, with `eod_mask_loss`, where its input is not
// end-of-document (as Megatron-LM has it). An id outside the vocabulary, as input or as target, is a
// DataError that names file, document, position, id and vocabulary (BadIds::kStop), or turns the whole sample
// into masked zeros and is noted down (BadIds::kSkip). Safe to use from any number of threads, each with its
// own scratch.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/token_source.h"

namespace octant {

enum class BadIds : uint8_t { kStop, kSkip };

// Samples that were left out, each counted once however many ranks or epochs meet it.
struct SkippedSamples {
  int64_t samples = 0;
  std::vector<std::string> first;  // what was wrong with the first of them
};

class SampleReader {
 public:
  struct Options {
    int64_t sequence_length = 0;
    int64_t vocab_size = 0;
    bool eod_mask_loss = false;
    int32_t eod_id = 256;
    BadIds bad_ids = BadIds::kStop;
  };
  struct Row {
    std::span<int32_t> tokens;
    std::span<int32_t> targets;
    std::span<uint8_t> mask;
  };
  explicit SampleReader(const Options& options) : options_(options) {}

  // Returns the number of targets that count. `scratch` is resized once and then reused.
  int64_t read(const TokenSource& source, int64_t window, const Row& row,
               std::vector<int32_t>& scratch) const;
  // A sequence that takes part in the work and counts for nothing.
  static void fill(const Row& row);

  SkippedSamples skipped() const;

 private:
  std::string describe(const TokenSource& source, int64_t token) const;

  Options options_;
  mutable std::mutex mutex_;
  mutable std::set<std::pair<const TokenSource*, int64_t>> skipped_;
  mutable std::vector<std::string> first_skipped_;
};

}  // namespace octant
