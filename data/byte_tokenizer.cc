#include "data/byte_tokenizer.h"

#include <fmt/format.h>

#include "core/error.h"

namespace octant {

std::vector<int32_t> ByteTokenizer::encode(std::string_view text) {
  std::vector<int32_t> ids(text.size());
  for (size_t i = 0; i < text.size(); ++i) ids[i] = static_cast<unsigned char>(text[i]);
  return ids;
}

std::string ByteTokenizer::decode(std::span<const int32_t> ids) {
  std::string text;
  text.reserve(ids.size());
  for (int32_t id : ids) {
    if (id < 0 || id >= kVocabularySize)
      throw DataError(fmt::format(
          "token id {} is none of the byte tokenizer's {} ids (0 to {}); decode it with the tokenizer "
          "that wrote it",
          id, kVocabularySize, kVocabularySize - 1));
    if (id != kEndOfDocument) text.push_back(static_cast<char>(id));
  }
  return text;
}

}  // namespace octant
