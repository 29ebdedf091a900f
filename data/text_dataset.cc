#include "data/text_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "data/byte_tokenizer.h"

namespace octant {

TextDataset::TextDataset(const std::string& path) : file_(path) {
  if (file_.size() == 0)
    throw DataError(fmt::format(
        "{}: is empty (0 bytes); a text to train on needs at least one sequence of tokens", path));
}

void TextDataset::tokens(int64_t begin, std::span<int32_t> out) const {
  check_range(begin, out.size());
  std::array<uint8_t, 16384> bytes;
  auto count = static_cast<int64_t>(out.size());
  if (begin + count == total_tokens() && count > 0)
    out[static_cast<size_t>(--count)] = ByteTokenizer::kEndOfDocument;
  for (int64_t done = 0; done < count;) {
    const int64_t piece = std::min<int64_t>(count - done, static_cast<int64_t>(bytes.size()));
    file_.read(begin + done, bytes.data(), piece);
    std::copy_n(bytes.begin(), piece, out.begin() + done);
    done += piece;
  }
}

int64_t TextDataset::id_at(int64_t token) const {
  int32_t id = 0;
  tokens(token, std::span(&id, 1));
  return id;
}

}  // namespace octant
