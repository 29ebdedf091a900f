// The byte tokenizer: 257 ids, one for each byte value and one for end-of-document.
//
//   std::vector<int32_t> ids = ByteTokenizer::encode("héllo");  // six ids, the text's own bytes
//   std::string text = ByteTokenizer::decode(ids);              // the same bytes again, whatever they were
//
// Nothing inside a text is special: a text that spells a marker is just that text. Pure functions, callable
// from anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octant {

struct ByteTokenizer {
  static constexpr int32_t kEndOfDocument = 256;
  static constexpr int64_t kVocabularySize = 257;

  static std::vector<int32_t> encode(std::string_view text);
  // End-of-document ids are left out. Throws DataError on an id outside [0, 257).
  static std::string decode(std::span<const int32_t> ids);
};

}  // namespace octant
