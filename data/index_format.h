// The `.idx` file of Megatron's indexed data sets: which bytes of the `.bin` are which sequence and document.
//
// Little endian, packed, so that the arrays lie at odd addresses:
//
//   offset       bytes  field
//   0            9      magic "MMIDIDX\0\0"
//   9            8      u64 version, 1
//   17           1      u8 token type (TokenType)
//   18           8      u64 S, sequences
//   26           8      u64 D, document indices: documents + 1
//   34           4·S    i32 length of each sequence in tokens; 0 is allowed
//   34+4S        8·S    i64 byte offset of each sequence in the .bin: the lengths before it × size of a token
//   34+12S       8·D    i64 document indices; document j holds sequences [d[j], d[j+1]); the first is 0, the
//                       last is S
//
// parse() works on bytes in memory, so it needs no file; it reads nothing outside them, whatever they hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace octant {

enum class TokenType : uint8_t {
  kU8 = 1,
  kI8 = 2,
  kI16 = 3,
  kI32 = 4,
  kI64 = 5,
  kF64 = 6,
  kF32 = 7,
  kU16 = 8
};

int64_t size_of(TokenType type);
std::string_view name_of(TokenType type);
// u16 while every id of the vocabulary surely fits, as Megatron decides it: below 65,500 ids; else i32.
TokenType token_type_for(int64_t vocab_size);

inline constexpr std::array<char, 9> kIndexMagic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
inline constexpr uint64_t kIndexVersion = 1;
inline constexpr int64_t kIndexHeaderBytes = 34;

// A checked index. It views the bytes it was parsed from, which must outlive it.
class IndexView {
 public:
  // Checks every field and every entry. Throws DataError with `path`, the field, what was expected and what
  // was found.
  static IndexView parse(std::span<const std::byte> bytes, std::string_view path);

  TokenType type() const { return type_; }
  int64_t sequences() const { return sequences_; }
  int64_t documents() const { return documents_; }
  int64_t total_tokens() const { return total_tokens_; }

  int64_t length(int64_t sequence) const { return load<int32_t>(kIndexHeaderBytes + 4 * sequence); }
  int64_t byte_offset(int64_t sequence) const {
    return load<int64_t>(kIndexHeaderBytes + 4 * sequences_ + 8 * sequence);
  }
  int64_t first_token(int64_t sequence) const {
    return sequence == sequences_ ? total_tokens_ : byte_offset(sequence) / size_of(type_);
  }
  // First sequence of a document; of `documents()`: the number of sequences.
  int64_t first_sequence(int64_t document) const {
    return load<int64_t>(kIndexHeaderBytes + 12 * sequences_ + 8 * document);
  }

  // The sequence that holds a token, and the document that holds a sequence: O(log n).
  int64_t sequence_of(int64_t token) const;
  int64_t document_of(int64_t sequence) const;

 private:
  template <typename T>
  T load(int64_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  void check_sequences(std::string_view path);
  void check_documents(std::string_view path) const;

  std::span<const std::byte> bytes_;
  TokenType type_ = TokenType::kU16;
  int64_t sequences_ = 0;
  int64_t documents_ = 0;
  int64_t total_tokens_ = 0;
};

}  // namespace octant
