// One data set as one long line of token ids, however it is stored.
//
//   std::unique_ptr<TokenSource> source = open_source({.kind = SourceKind::kText, .path = "corpus.txt"});
//   std::vector<int32_t> ids(129);
//   source->tokens(/*begin=*/5'000'000'000, ids);
//
// Documents are concatenated in their order; empty ones leave no trace. A source is immutable once open, and
// any number of threads may read it. Reads block on the disk and throw DataError.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octant {

// Where a token lies, for messages. All counts start at 0.
struct TokenPlace {
  std::string file;
  int64_t document = 0;
  int64_t position = 0;  // within the document
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  virtual const std::string& path() const = 0;
  virtual int64_t total_tokens() const = 0;

  // Ids [begin, begin + out.size()). An id that does not fit into 32 bits reads as -1, which no vocabulary
  // holds; id_at has it exactly.
  virtual void tokens(int64_t begin, std::span<int32_t> out) const = 0;
  virtual int64_t id_at(int64_t token) const = 0;

  // 1 where predicting that token counts in the loss, 0 where not; all 1 for a source without a mask.
  virtual bool has_mask() const { return false; }
  virtual void mask(int64_t begin, std::span<uint8_t> out) const;

  virtual TokenPlace place_of(int64_t token) const = 0;

  // What the user should hear about the files, though they are usable.
  virtual std::vector<std::string> notices() const { return {}; }

  // 64 bits of the token count and a sample of the ids. It depends on neither path, nor storage type, nor
  // empty documents, so that a copy, a widened file, or one with its empty documents removed is read in the
  // same order.
  uint64_t fingerprint() const;

 protected:
  // Throws BugError unless [begin, begin + count) lies within the source.
  void check_range(int64_t begin, size_t count) const;
};

}  // namespace octant
