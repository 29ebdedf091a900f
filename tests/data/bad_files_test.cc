// Truncated and foreign pairs: each refused at open, with the path and two numbers.
#include <cstring>

#include "data/indexed_dataset.h"
#include "tests/data/scratch.h"

namespace octant::testing {
namespace {

template <typename T>
void put(std::string& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

class C37_BadPairs : public ::testing::Test {
 protected:
  void SetUp() override {
    write_pair(scratch_, "good", TokenType::kU16, {{{1, 2, 3}}, {}, {{4}, {5, 6}}});
    index_ = scratch_.read("good.idx");
    tokens_ = scratch_.read("good.bin");
  }

  // The message with which the pair of these bytes is refused.
  std::string refusal(const std::string& index, const std::string& tokens) {
    scratch_.write("bad.idx", index);
    scratch_.write("bad.bin", tokens);
    const std::string message = message_of<DataError>([&] { IndexedDataset(scratch_.path("bad")); });
    EXPECT_TRUE(holds(message, scratch_.path("bad")));
    return message;
  }
  template <typename T>
  std::string with(size_t offset, T value) const {
    std::string bytes = index_;
    put(bytes, offset, value);
    return bytes;
  }

  static constexpr size_t kSizes = 34, kPointers = 34 + 4 * 3, kDocuments = 34 + 12 * 3;
  Scratch scratch_;
  std::string index_, tokens_;
};

TEST_F(C37_BadPairs, TheUnchangedPairIsGood) {
  EXPECT_NO_THROW(IndexedDataset(scratch_.path("good")));
}

TEST_F(C37_BadPairs, ShortTokens) {
  EXPECT_TRUE(holds(refusal(index_, tokens_.substr(0, 11)), "holds 11 bytes, expected 12"));
  EXPECT_TRUE(holds(refusal(index_, tokens_.substr(0, 6)), "holds 6 bytes, expected 12"));
  EXPECT_TRUE(holds(refusal(index_, ""), "holds 0 bytes, expected 12"));
}

TEST_F(C37_BadPairs, TrailingTokensAreANotice) {
  scratch_.write("good.bin", tokens_ + "xyz");
  const IndexedDataset dataset(scratch_.path("good"));
  ASSERT_EQ(dataset.notices().size(), 1u);
  EXPECT_TRUE(holds(dataset.notices()[0], "holds 15 bytes, 3 more than the 12"));
  EXPECT_EQ(dataset.total_tokens(), 6);
}

TEST_F(C37_BadPairs, IndexCutAnywhere) {
  for (size_t size = 0; size < index_.size(); ++size) {
    const std::string message = refusal(index_.substr(0, size), tokens_);
    EXPECT_TRUE(holds(message, std::to_string(size) + " bytes")) << size;
    EXPECT_TRUE(holds(message, size < 34 ? "is 34" : (size < 34 + 36 ? "3 sequences" : "expected 102")))
        << message;
  }
}

TEST_F(C37_BadPairs, IndexTooLong) {
  EXPECT_TRUE(holds(refusal(index_ + "x", tokens_), "is 103 bytes long, expected 102"));
  EXPECT_TRUE(holds(refusal(index_ + std::string(3, '\0'), tokens_), "modes of a multimodal set"));
}

TEST_F(C37_BadPairs, Header) {
  EXPECT_TRUE(holds(refusal(with<char>(0, 'X'), tokens_), "58 4d 49 44 49 44 58 00 00, expected 4d 4d"));
  EXPECT_TRUE(holds(refusal(with<uint64_t>(9, 2), tokens_), "version 2, expected version 1"));
  EXPECT_TRUE(holds(refusal(with<uint8_t>(17, 0), tokens_), "code 0"));
  EXPECT_TRUE(holds(refusal(with<uint8_t>(17, 9), tokens_), "code 9"));
  EXPECT_TRUE(holds(refusal(with<uint8_t>(17, 6), tokens_), "holds f64 values (type code 6)"));
  EXPECT_TRUE(holds(refusal(with<uint8_t>(17, 7), tokens_), "holds f32 values (type code 7)"));
  EXPECT_TRUE(holds(refusal(with<uint8_t>(17, 4), tokens_), "points to byte 6 of the .bin, expected 12"));
}

TEST_F(C37_BadPairs, CountsThatWouldOverflow) {
  for (uint64_t count :
       {uint64_t{4}, uint64_t{1} << 32, uint64_t{1} << 61, ~uint64_t{0}, (~uint64_t{0}) / 12 + 1}) {
    EXPECT_TRUE(holds(refusal(with<uint64_t>(18, count), tokens_), std::to_string(count)));
    EXPECT_TRUE(holds(refusal(with<uint64_t>(26, count + 1), tokens_), std::to_string(count + 1)));
  }
}

TEST_F(C37_BadPairs, Entries) {
  EXPECT_TRUE(holds(refusal(with<int32_t>(kSizes, -3), tokens_), "sequence 0 has length -3"));
  EXPECT_TRUE(holds(refusal(with<int32_t>(kSizes + 8, 3), tokens_), "holds 12 bytes, expected 14"));
  EXPECT_TRUE(holds(refusal(with<int64_t>(kPointers + 8, 4), tokens_),
                    "sequence 1 points to byte 4 of the .bin, expected 6"));
  EXPECT_TRUE(holds(refusal(with<int64_t>(kPointers + 16, 1000), tokens_), "sequence 2 points to byte 1000"));
  EXPECT_TRUE(holds(refusal(with<int64_t>(kDocuments, 1), tokens_), "first document index is 1, expected 0"));
  EXPECT_TRUE(holds(refusal(with<int64_t>(kDocuments + 16, 0), tokens_),
                    "document index 2 is 0, expected at least 1"));
  EXPECT_TRUE(
      holds(refusal(with<int64_t>(kDocuments + 24, 2), tokens_), "last document index is 2, expected 3"));
  EXPECT_TRUE(
      holds(refusal(with<int64_t>(kDocuments + 24, 4), tokens_), "last document index is 4, expected 3"));
  EXPECT_TRUE(holds(refusal(with<int64_t>(kDocuments + 16, -1), tokens_), "document index 2 is -1"));
}

TEST_F(C37_BadPairs, NoDocumentIndices) {
  std::string bytes = index_.substr(0, kDocuments);
  put<uint64_t>(bytes, 26, 0);
  EXPECT_TRUE(holds(refusal(bytes, tokens_), "has 0 document indices, expected at least 1"));
}

TEST_F(C37_BadPairs, IndexOfAnotherSet) {
  write_pair(scratch_, "other", TokenType::kU16, {{counting(100)}});
  EXPECT_TRUE(holds(refusal(scratch_.read("other.idx"), tokens_), "holds 12 bytes, expected 200"));
}

TEST_F(C37_BadPairs, MissingHalf) {
  std::filesystem::remove(scratch_.path("good.idx"));
  EXPECT_TRUE(holds(message_of<DataError>([&] { IndexedDataset(scratch_.path("good")); }),
                    scratch_.path("good.idx") + ": cannot open"));
  scratch_.write("good.idx", index_);
  std::filesystem::remove(scratch_.path("good.bin"));
  EXPECT_TRUE(holds(message_of<DataError>([&] { IndexedDataset(scratch_.path("good")); }),
                    scratch_.path("good.bin") + ": cannot open"));
}

TEST_F(C37_BadPairs, AnEmptySetIsASet) {
  const IndexedDataset empty(write_pair(scratch_, "empty", TokenType::kU16, {}));
  EXPECT_EQ(empty.total_tokens(), 0);
  EXPECT_EQ(empty.index().documents(), 0);
}

}  // namespace
}  // namespace octant::testing
