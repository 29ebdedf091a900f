#include "data/byte_tokenizer.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace octant {
namespace {

TEST(ByteTokenizer, EveryByteSurvives) {
  std::string text;
  for (int byte = 255; byte >= 0; --byte) text.push_back(static_cast<char>(byte));
  const std::vector<int32_t> ids = ByteTokenizer::encode(text);
  ASSERT_EQ(ids.size(), 256u);
  EXPECT_EQ(ids.front(), 255);
  EXPECT_EQ(ids.back(), 0);
  EXPECT_EQ(ByteTokenizer::decode(ids), text);
}

TEST(ByteTokenizer, EndOfDocumentIsNoText) {
  EXPECT_EQ(ByteTokenizer::decode(std::vector<int32_t>{104, 256, 105}), "hi");
  EXPECT_EQ(ByteTokenizer::decode({}), "");
}

TEST(ByteTokenizer, RefusesIdsItDoesNotHave) {
  EXPECT_THROW(ByteTokenizer::decode(std::vector<int32_t>{257}), DataError);
  EXPECT_THROW(ByteTokenizer::decode(std::vector<int32_t>{-1}), DataError);
}

}  // namespace
}  // namespace octant
