#include "data/indexed_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace octant {

namespace {

template <typename Stored>
void store(std::span<const int32_t> ids, std::vector<std::byte>& to, TokenType type,
           const std::string& path) {
  to.resize(ids.size() * sizeof(Stored));
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto value = static_cast<Stored>(ids[i]);
    if (static_cast<int64_t>(value) != ids[i])
      throw DataError(
          fmt::format("{}: token id {} does not fit into {}; write it as i32", path, ids[i], name_of(type)));
    std::memcpy(to.data() + i * sizeof(Stored), &value, sizeof(Stored));
  }
}

template <typename T>
void put(OutputFile& file, T value) {
  file.write(&value, sizeof(T));
}

}  // namespace

IndexedWriter::IndexedWriter(const std::string& prefix, TokenType type)
    : prefix_(prefix), type_(type), bin_(prefix + ".bin"), index_(prefix + ".idx") {}

void IndexedWriter::append(std::span<const int32_t> ids) {
  constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();
  if (static_cast<int64_t>(ids.size()) > kLongest - length_)
    throw DataError(
        fmt::format("{}: a sequence of {} tokens, but an index holds at most {} in one; cut the document",
                    bin_.path(), length_ + static_cast<int64_t>(ids.size()), kLongest));
  switch (type_) {
    case TokenType::kU8:
      store<uint8_t>(ids, stored_, type_, bin_.path());
      break;
    case TokenType::kI8:
      store<int8_t>(ids, stored_, type_, bin_.path());
      break;
    case TokenType::kI16:
      store<int16_t>(ids, stored_, type_, bin_.path());
      break;
    case TokenType::kI32:
      store<int32_t>(ids, stored_, type_, bin_.path());
      break;
    case TokenType::kI64:
      store<int64_t>(ids, stored_, type_, bin_.path());
      break;
    case TokenType::kU16:
      store<uint16_t>(ids, stored_, type_, bin_.path());
      break;
    case TokenType::kF32:
    case TokenType::kF64:
      throw BugError("token ids are written as floating-point values");
  }
  bin_.write(stored_.data(), static_cast<int64_t>(stored_.size()));
  length_ += static_cast<int64_t>(ids.size());
}

void IndexedWriter::end_sequence() {
  lengths_.push_back(static_cast<int32_t>(length_));
  total_tokens_ += length_;
  length_ = 0;
}

void IndexedWriter::end_document() {
  document_indices_.push_back(sequences());
}

void IndexedWriter::write_index() {
  index_.write(kIndexMagic.data(), static_cast<int64_t>(kIndexMagic.size()));
  put<uint64_t>(index_, kIndexVersion);
  put<uint8_t>(index_, static_cast<uint8_t>(type_));
  put<uint64_t>(index_, lengths_.size());
  put<uint64_t>(index_, document_indices_.size());
  index_.write(lengths_.data(), static_cast<int64_t>(lengths_.size() * sizeof(int32_t)));
  int64_t offset = 0;
  for (int32_t length : lengths_) {
    put<int64_t>(index_, offset);
    offset += length * size_of(type_);
  }
  index_.write(document_indices_.data(), static_cast<int64_t>(document_indices_.size() * sizeof(int64_t)));
}

void IndexedWriter::commit() {
  if (length_ != 0 || document_indices_.back() != sequences())
    throw BugError("an indexed data set is committed inside a document; end_document() comes first");
  write_index();
  bin_.finish();
  index_.finish();
  // An older pair loses its index first: a crash between the two renames then leaves no pair at all, never a
  // mixed one.
  if (::unlink(index_.path().c_str()) != 0 && errno != ENOENT)
    throw DataError(
        fmt::format("{}: cannot replace the older index: {}", index_.path(), std::strerror(errno)));
  bin_.publish();
  index_.publish();
}

}  // namespace octant
