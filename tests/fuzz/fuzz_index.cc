// Fuzzes the parser of `.idx` files: it either refuses the bytes or gives an index whose every answer is in
// bounds and agrees with itself.
#include <cstdlib>
#include <cstring>
#include <span>

#include "core/error.h"
#include "data/index_format.h"
#include "tests/fuzz/fuzz.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const octant::IndexView& index) {
  int64_t tokens = 0;
  for (int64_t i = 0; i < index.sequences(); ++i) {
    require(index.length(i) >= 0 && index.first_token(i) == tokens);
    if (index.length(i) > 0) {
      require(index.sequence_of(tokens) == i);
      require(index.sequence_of(tokens + index.length(i) - 1) == i);
    }
    const int64_t document = index.document_of(i);
    require(index.first_sequence(document) <= i && i < index.first_sequence(document + 1));
    tokens += index.length(i);
  }
  require(tokens == index.total_tokens());
  require(index.first_sequence(index.documents()) == index.sequences());
}

std::vector<uint8_t> index_of(octant::TokenType type, const std::vector<int32_t>& lengths,
                              const std::vector<int64_t>& documents) {
  std::vector<uint8_t> bytes;
  const auto put = [&bytes](auto value) {
    const size_t end = bytes.size();
    bytes.resize(end + sizeof(value));
    std::memcpy(bytes.data() + end, &value, sizeof(value));
  };
  put(octant::kIndexMagic);
  put(octant::kIndexVersion);
  put(static_cast<uint8_t>(type));
  put(uint64_t{lengths.size()});
  put(uint64_t{documents.size()});
  for (int32_t length : lengths) put(length);
  int64_t offset = 0;
  for (int32_t length : lengths) {
    put(offset);
    offset += length * octant::size_of(type);
  }
  for (int64_t document : documents) put(document);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    check(octant::IndexView::parse(std::as_bytes(std::span(data, size)), "input.idx"));
  } catch (const octant::DataError&) {
    // Refused, as most inputs are.
  }
  return 0;
}

std::vector<std::vector<uint8_t>> octant::fuzz::valid_inputs() {
  return {index_of(TokenType::kU16, {3, 1, 2}, {0, 1, 1, 3}),
          index_of(TokenType::kI64, {0, 0, 5, 0, 7, 2147483647, 0}, {0, 0, 2, 7, 7}),
          index_of(TokenType::kU8, {}, {0}), index_of(TokenType::kI32, {1000000}, {0, 1})};
}
