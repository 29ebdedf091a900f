#include "data/indexed_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace octant {

namespace {

constexpr int64_t kPieceBytes = 16384;

// Reads `out.size()` stored values of type Stored from byte `offset` and hands each to `convert`.
template <typename Stored, typename Out, typename Convert>
void read_as(const InputFile& file, int64_t offset, std::span<Out> out, Convert convert) {
  std::array<Stored, kPieceBytes / sizeof(Stored)> piece;
  const auto count = static_cast<int64_t>(out.size());
  for (int64_t done = 0; done < count;) {
    const int64_t now = std::min<int64_t>(count - done, static_cast<int64_t>(piece.size()));
    file.read(offset + done * static_cast<int64_t>(sizeof(Stored)), piece.data(),
              now * static_cast<int64_t>(sizeof(Stored)));
    std::transform(piece.begin(), piece.begin() + now, out.begin() + done, convert);
    done += now;
  }
}

int32_t narrow_id(int64_t id) {
  return id < 0 || id > std::numeric_limits<int32_t>::max() ? -1 : static_cast<int32_t>(id);
}

template <typename Out, typename Convert>
void read_ids(TokenType type, const InputFile& file, int64_t begin, std::span<Out> out, Convert convert) {
  const int64_t offset = begin * size_of(type);
  switch (type) {
    case TokenType::kU8:
      return read_as<uint8_t>(file, offset, out, convert);
    case TokenType::kI8:
      return read_as<int8_t>(file, offset, out, convert);
    case TokenType::kI16:
      return read_as<int16_t>(file, offset, out, convert);
    case TokenType::kI32:
      return read_as<int32_t>(file, offset, out, convert);
    case TokenType::kI64:
      return read_as<int64_t>(file, offset, out, convert);
    case TokenType::kU16:
      return read_as<uint16_t>(file, offset, out, convert);
    case TokenType::kF32:
    case TokenType::kF64:
      break;
  }
  throw BugError("an index of floating-point values passed its checks");
}

}  // namespace

IndexedDataset::IndexedDataset(const std::string& prefix, const std::string& mask_prefix)
    : prefix_(prefix),
      index_bytes_(prefix + ".idx"),
      index_(IndexView::parse(index_bytes_.bytes(), prefix + ".idx")),
      bin_(prefix + ".bin") {
  const int64_t expected = index_.total_tokens() * size_of(index_.type());
  if (bin_.size() < expected)
    throw DataError(fmt::format(
        "{}: holds {} bytes, expected {} ({} tokens of {} by {}); the file is cut short, or the index "
        "belongs "
        "to another one",
        bin_.path(), bin_.size(), expected, index_.total_tokens(), name_of(index_.type()), index_path()));
  if (bin_.size() > expected)
    notices_.push_back(
        fmt::format("{}: holds {} bytes, {} more than the {} that {} speaks of; the rest is not read",
                    bin_.path(), bin_.size(), bin_.size() - expected, expected, index_path()));
  if (!mask_prefix.empty()) {
    mask_ = std::make_unique<IndexedDataset>(mask_prefix);
    check_mask();
    for (const std::string& notice : mask_->notices_) notices_.push_back(notice);
  }
}

void IndexedDataset::check_mask() const {
  const IndexView& other = mask_->index_;
  if (other.type() != TokenType::kU8)
    throw DataError(fmt::format("{}: a loss mask holds u8 (type code 1), this one holds {} (type code {})",
                                mask_->index_path(), name_of(other.type()), static_cast<int>(other.type())));
  if (other.sequences() != index_.sequences())
    throw DataError(fmt::format("{}: the loss mask has {} sequences, expected {} as in {}",
                                mask_->index_path(), other.sequences(), index_.sequences(), index_path()));
  for (int64_t i = 0; i < index_.sequences(); ++i)
    if (other.length(i) != index_.length(i))
      throw DataError(fmt::format("{}: sequence {} of the loss mask has length {}, expected {} as in {}",
                                  mask_->index_path(), i, other.length(i), index_.length(i), index_path()));
}

void IndexedDataset::tokens(int64_t begin, std::span<int32_t> out) const {
  check_range(begin, out.size());
  read_ids(index_.type(), bin_, begin, out, [](int64_t id) { return narrow_id(id); });
}

int64_t IndexedDataset::id_at(int64_t token) const {
  check_range(token, 1);
  int64_t id = 0;
  read_ids(index_.type(), bin_, token, std::span(&id, 1), [](int64_t value) { return value; });
  return id;
}

void IndexedDataset::mask(int64_t begin, std::span<uint8_t> out) const {
  if (!mask_) return TokenSource::mask(begin, out);
  check_range(begin, out.size());
  read_as<uint8_t>(mask_->bin_, begin, out, [](uint8_t value) { return static_cast<uint8_t>(value != 0); });
}

TokenPlace IndexedDataset::place_of(int64_t token) const {
  check_range(token, 1);
  const int64_t document = index_.document_of(index_.sequence_of(token));
  return {path(), document, token - index_.first_token(index_.first_sequence(document))};
}

}  // namespace octant
