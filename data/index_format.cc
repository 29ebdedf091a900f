#include "data/index_format.h"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "core/error.h"

namespace octant {

static_assert(std::endian::native == std::endian::little, "indices are read as they lie in the file");

int64_t size_of(TokenType type) {
  switch (type) {
    case TokenType::kU8:
    case TokenType::kI8:
      return 1;
    case TokenType::kI16:
    case TokenType::kU16:
      return 2;
    case TokenType::kI32:
    case TokenType::kF32:
      return 4;
    case TokenType::kI64:
    case TokenType::kF64:
      return 8;
  }
  throw BugError("a token type that no index can hold");
}

std::string_view name_of(TokenType type) {
  switch (type) {
    case TokenType::kU8:
      return "u8";
    case TokenType::kI8:
      return "i8";
    case TokenType::kI16:
      return "i16";
    case TokenType::kI32:
      return "i32";
    case TokenType::kI64:
      return "i64";
    case TokenType::kF64:
      return "f64";
    case TokenType::kF32:
      return "f32";
    case TokenType::kU16:
      return "u16";
  }
  return "?";
}

TokenType token_type_for(int64_t vocab_size) {
  return vocab_size < 65500 ? TokenType::kU16 : TokenType::kI32;
}

IndexView IndexView::parse(std::span<const std::byte> bytes, std::string_view path) {
  IndexView view;
  view.bytes_ = bytes;
  const auto size = static_cast<int64_t>(bytes.size());
  if (size < kIndexHeaderBytes)
    throw DataError(fmt::format(
        "{}: holds {} bytes, but the header of an index alone is {}; the file is cut short or not an index",
        path, size, kIndexHeaderBytes));
  if (std::memcmp(bytes.data(), kIndexMagic.data(), kIndexMagic.size()) != 0) {
    std::string found;
    for (size_t i = 0; i < kIndexMagic.size(); ++i)
      found += fmt::format("{:02x} ", std::to_integer<int>(bytes[i]));
    throw DataError(fmt::format(
        "{}: its first 9 bytes are {}, expected 4d 4d 49 44 49 44 58 00 00 (\"MMIDIDX\"); this is not a "
        "Megatron index",
        path, found.substr(0, found.size() - 1)));
  }
  const auto version = view.load<uint64_t>(9);
  if (version != kIndexVersion)
    throw DataError(
        fmt::format("{}: is an index of version {}, expected version {}", path, version, kIndexVersion));
  const auto code = view.load<uint8_t>(17);
  if (code < 1 || code > 8)
    throw DataError(fmt::format(
        "{}: has token type code {}, expected one of 1 (u8), 2 (i8), 3 (i16), 4 (i32), 5 (i64), 8 (u16)",
        path, code));
  view.type_ = static_cast<TokenType>(code);
  if (view.type_ == TokenType::kF32 || view.type_ == TokenType::kF64)
    throw DataError(fmt::format(
        "{}: holds {} values (type code {}), which are no token ids; expected u8, i8, i16, i32, i64 or u16",
        path, name_of(view.type_), code));

  const auto sequences = view.load<uint64_t>(18);
  const auto indices = view.load<uint64_t>(26);
  // Bounds first, so that the sizes computed from them cannot overflow.
  const auto room = static_cast<uint64_t>(size - kIndexHeaderBytes);
  if (sequences > room / 12 || indices > room / 8)
    throw DataError(fmt::format(
        "{}: is {} bytes long, too short for the {} sequences and {} document indices of its header "
        "(12 and 8 bytes each, after a header of {})",
        path, size, sequences, indices, kIndexHeaderBytes));
  view.sequences_ = static_cast<int64_t>(sequences);
  const int64_t expected = kIndexHeaderBytes + 12 * view.sequences_ + 8 * static_cast<int64_t>(indices);
  if (size != expected) {
    const bool modes = view.sequences_ > 0 && size == expected + view.sequences_;
    throw DataError(fmt::format(
        "{}: is {} bytes long, expected {} for {} sequences and {} document indices{}", path, size, expected,
        sequences, indices,
        modes ? "; the rest looks like the modes of a multimodal set, which cannot be read" : ""));
  }
  if (indices == 0)
    throw DataError(fmt::format("{}: has 0 document indices, expected at least 1 (documents + 1)", path));
  view.documents_ = static_cast<int64_t>(indices) - 1;
  view.check_sequences(path);
  view.check_documents(path);
  return view;
}

void IndexView::check_sequences(std::string_view path) {
  const int64_t item = size_of(type_);
  const int64_t limit = std::numeric_limits<int64_t>::max() / item - std::numeric_limits<int32_t>::max();
  int64_t total = 0;
  for (int64_t i = 0; i < sequences_; ++i) {
    const int64_t tokens = length(i);
    if (tokens < 0)
      throw DataError(fmt::format("{}: sequence {} has length {}, expected 0 or more", path, i, tokens));
    if (byte_offset(i) != total * item)
      throw DataError(fmt::format(
          "{}: sequence {} points to byte {} of the .bin, expected {} (the {} tokens before it × {} bytes)",
          path, i, byte_offset(i), total * item, total, item));
    total += tokens;
    if (total > limit)
      throw DataError(fmt::format("{}: the sequences up to {} hold {} tokens, expected at most {}", path, i,
                                  total, limit));
  }
  total_tokens_ = total;
}

void IndexView::check_documents(std::string_view path) const {
  int64_t previous = first_sequence(0);
  if (previous != 0)
    throw DataError(fmt::format("{}: its first document index is {}, expected 0", path, previous));
  for (int64_t j = 1; j <= documents_; ++j) {
    const int64_t index = first_sequence(j);
    if (index < previous)
      throw DataError(fmt::format("{}: document index {} is {}, expected at least {} (the one before it)",
                                  path, j, index, previous));
    previous = index;
  }
  if (previous != sequences_)
    throw DataError(fmt::format("{}: its last document index is {}, expected {} (the number of sequences)",
                                path, previous, sequences_));
}

int64_t IndexView::sequence_of(int64_t token) const {
  // The last sequence that starts at or before the token. Empty ones at the same offset come before the one
  // that holds it.
  int64_t low = 0, high = sequences_;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (first_token(middle) <= token ? low : high) = middle;
  }
  return low;
}

int64_t IndexView::document_of(int64_t sequence) const {
  int64_t low = 0, high = documents_;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (first_sequence(middle) <= sequence ? low : high) = middle;
  }
  return low;
}

}  // namespace octant
