#include <sys/resource.h>

#include <csignal>
#include <limits>

#include "data/indexed_dataset.h"
#include "data/text_dataset.h"
#include "tests/data/scratch.h"

namespace octant::testing {
namespace {

std::string bytes_of(std::initializer_list<int> values) {
  std::string bytes;
  for (int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// Megatron-LM's own files for u16, documents {[1,2,3]}, {}, {[4],[5,6]}.
const std::string kGoldenIndex = bytes_of({
    0x4d, 0x4d, 0x49, 0x44, 0x49, 0x44, 0x58, 0, 0, 1, 0, 0, 0, 0, 0, 0,  //
    0,    8,    3,    0,    0,    0,    0,    0, 0, 0, 4, 0, 0, 0, 0, 0,  //
    0,    0,    3,    0,    0,    0,    1,    0, 0, 0, 2, 0, 0, 0, 0, 0,  //
    0,    0,    0,    0,    0,    0,    6,    0, 0, 0, 0, 0, 0, 0, 8, 0,  //
    0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 1, 0,  //
    0,    0,    0,    0,    0,    0,    1,    0, 0, 0, 0, 0, 0, 0, 3, 0,  //
    0,    0,    0,    0,    0,    0,
});
const std::string kGoldenTokens = bytes_of({1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0});
const std::vector<Document> kGoldenDocuments = {{{1, 2, 3}}, {}, {{4}, {5, 6}}};

std::vector<int32_t> all_tokens(const TokenSource& source) {
  std::vector<int32_t> ids(static_cast<size_t>(source.total_tokens()));
  source.tokens(0, ids);
  return ids;
}

TEST(Indexed, WritesTheGoldenBytes) {
  const Scratch scratch;
  write_pair(scratch, "golden", TokenType::kU16, kGoldenDocuments);
  EXPECT_EQ(kGoldenIndex.size(), 102u);
  EXPECT_EQ(scratch.read("golden.idx"), kGoldenIndex);
  EXPECT_EQ(scratch.read("golden.bin"), kGoldenTokens);
  EXPECT_EQ(scratch.files(), 2u);
}

TEST(Indexed, ReadsTheGoldenBytes) {
  const Scratch scratch;
  scratch.write("golden.idx", kGoldenIndex);
  scratch.write("golden.bin", kGoldenTokens);
  const IndexedDataset dataset(scratch.path("golden"));
  EXPECT_EQ(dataset.index().documents(), 3);
  EXPECT_EQ(all_tokens(dataset), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(dataset.notices().empty());
  const TokenPlace place = dataset.place_of(5);
  EXPECT_EQ(place.document, 2);
  EXPECT_EQ(place.position, 2);
  EXPECT_EQ(place.file, scratch.path("golden.bin"));
  EXPECT_EQ(dataset.place_of(2).document, 0);
  std::vector<uint8_t> mask(2);
  dataset.mask(4, mask);
  EXPECT_EQ(mask, (std::vector<uint8_t>{1, 1}));
  EXPECT_THROW(dataset.place_of(6), BugError);
}

TEST(Indexed, TypeFollowsTheVocabulary) {
  EXPECT_EQ(token_type_for(65499), TokenType::kU16);
  EXPECT_EQ(token_type_for(65500), TokenType::kI32);
}

TEST(Indexed, EveryIntegerTypeRoundTrips) {
  const Scratch scratch;
  const std::vector<std::pair<TokenType, int32_t>> types = {
      {TokenType::kU8, 255},    {TokenType::kI8, 127},         {TokenType::kI16, 32767},
      {TokenType::kU16, 65535}, {TokenType::kI32, 2147483647}, {TokenType::kI64, 2147483647}};
  for (const auto& [type, largest] : types) {
    const std::string name(name_of(type));
    const IndexedDataset dataset(write_pair(scratch, name, type, {{{0, 1, largest}}, {{7}}}));
    EXPECT_EQ(all_tokens(dataset), (std::vector<int32_t>{0, 1, largest, 7})) << name;
    if (largest < 2147483647) {
      EXPECT_THROW(write_pair(scratch, "bad", type, {{{largest + 1}}}), DataError) << name;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.path("bad.bin")));
}

TEST(Indexed, AnIdBeyond32BitsIsSeenAsItIs) {
  const Scratch scratch;
  write_pair(scratch, "wide", TokenType::kI64, {{{1, 2}}});
  const int64_t ids[] = {(int64_t{1} << 32) + 5, -3};
  scratch.write("wide.bin", std::string(reinterpret_cast<const char*>(ids), sizeof(ids)));
  const IndexedDataset dataset(scratch.path("wide"));
  EXPECT_EQ(all_tokens(dataset), (std::vector<int32_t>{-1, -1}));
  EXPECT_EQ(dataset.id_at(0), ids[0]);
  EXPECT_EQ(dataset.id_at(1), -3);
}

TEST(Indexed, LongReadsCrossThePieces) {
  const Scratch scratch;
  const std::vector<int32_t> ids = counting(20001, 5);
  const IndexedDataset dataset(write_pair(scratch, "long", TokenType::kI32, {{ids}}));
  EXPECT_EQ(all_tokens(dataset), ids);
}

TEST(Indexed, MaskPairMustHaveTheSameLengths) {
  const Scratch scratch;
  const std::string tokens = write_pair(scratch, "tokens", TokenType::kU16, {{{1, 2, 3}}, {{}, {4, 5}}});
  const std::string mask = write_pair(scratch, "mask", TokenType::kU8, {{{0, 1, 7}, {}, {0, 1}}});
  const IndexedDataset dataset(tokens, mask);
  std::vector<uint8_t> bits(5);
  dataset.mask(0, bits);
  EXPECT_EQ(bits, (std::vector<uint8_t>{0, 1, 1, 0, 1}));

  const std::string shifted = write_pair(scratch, "shifted", TokenType::kU8, {{{0, 1}, {1}, {0, 1}}});
  const std::string longer = write_pair(scratch, "longer", TokenType::kU8, {{{0, 1, 1}, {}, {0, 1}, {1}}});
  const std::string wide = write_pair(scratch, "wide", TokenType::kU16, {{{0, 1, 1}, {}, {0, 1}}});
  EXPECT_TRUE(holds(message_of<DataError>([&] { IndexedDataset(tokens, shifted); }),
                    "sequence 0 of the loss mask has length 2, expected 3"));
  EXPECT_TRUE(
      holds(message_of<DataError>([&] { IndexedDataset(tokens, longer); }), "has 4 sequences, expected 3"));
  EXPECT_TRUE(holds(message_of<DataError>([&] { IndexedDataset(tokens, wide); }), "holds u16"));
}

TEST(Indexed, FingerprintIsOfTheTokensAlone) {
  const Scratch scratch;
  const IndexedDataset narrow(write_pair(scratch, "a", TokenType::kU16, {{counting(5000)}}));
  const IndexedDataset wide(
      write_pair(scratch, "b", TokenType::kI32, {{{}, counting(2500)}, {}, {counting(2500, 2500)}}));
  const IndexedDataset other(write_pair(scratch, "c", TokenType::kU16, {{counting(5000, 1)}}));
  const IndexedDataset shorter(write_pair(scratch, "d", TokenType::kU16, {{counting(4999)}}));
  EXPECT_EQ(narrow.fingerprint(), wide.fingerprint());
  EXPECT_NE(narrow.fingerprint(), other.fingerprint());
  EXPECT_NE(narrow.fingerprint(), shorter.fingerprint());
}

TEST(Writer, NothingAppearsWithoutCommit) {
  const Scratch scratch;
  write_pair(scratch, "pair", TokenType::kU16, kGoldenDocuments);
  {
    IndexedWriter writer(scratch.path("pair"), TokenType::kU16);
    writer.add_sequence(counting(100));
    writer.end_document();
  }
  EXPECT_EQ(scratch.read("pair.idx"), kGoldenIndex);
  EXPECT_EQ(scratch.read("pair.bin"), kGoldenTokens);
  EXPECT_EQ(scratch.files(), 2u);
  write_pair(scratch, "pair", TokenType::kU16, {{{9}}});
  EXPECT_EQ(all_tokens(IndexedDataset(scratch.path("pair"))), (std::vector<int32_t>{9}));
  EXPECT_EQ(scratch.files(), 2u);
}

TEST(Writer, CommitInsideADocumentIsABug) {
  const Scratch scratch;
  IndexedWriter writer(scratch.path("pair"), TokenType::kU16);
  writer.add_sequence(counting(3));
  EXPECT_THROW(writer.commit(), BugError);
}

// A limit on the size of a file refuses bytes as a full disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(Writer, AFullDiskLeavesNothingBehind) {
  const Scratch scratch;
  const std::vector<int32_t> ids = counting(3'000'000);
  const std::string message = [&] {
    const FileSizeLimit limit(1 << 20);
    return message_of<DataError>([&] { write_pair(scratch, "full", TokenType::kI32, {{ids}}); });
  }();
  EXPECT_TRUE(holds(message, scratch.path("full.bin")));
  EXPECT_TRUE(holds(message, "cannot write after 1048576 bytes"));
  EXPECT_EQ(scratch.files(), 0u);
}

TEST(Text, BytesThenEndOfDocument) {
  const Scratch scratch;
  const TextDataset text(scratch.write("a.txt", "h\xC3\xA9\n"));
  EXPECT_EQ(all_tokens(text), (std::vector<int32_t>{'h', 0xC3, 0xA9, '\n', 256}));
  EXPECT_EQ(text.id_at(4), 256);
  EXPECT_EQ(text.id_at(1), 0xC3);
  EXPECT_EQ(text.place_of(3).position, 3);
  std::vector<int32_t> middle(2);
  text.tokens(1, middle);
  EXPECT_EQ(middle, (std::vector<int32_t>{0xC3, 0xA9}));
  EXPECT_THROW(text.tokens(4, middle), BugError);
}

TEST(Text, LongReadsCrossThePieces) {
  const Scratch scratch;
  std::string bytes(50001, 'x');
  bytes[50000] = 'y';
  bytes[16384] = 'z';
  const TextDataset text(scratch.write("a.txt", bytes));
  const std::vector<int32_t> ids = all_tokens(text);
  EXPECT_EQ(ids[16384], 'z');
  EXPECT_EQ(ids[50000], 'y');
  EXPECT_EQ(ids[50001], 256);
}

TEST(C30_SetUpErrors, MissingFileNamesPathAndReason) {
  const Scratch scratch;
  EXPECT_TRUE(holds(message_of<DataError>([&] { TextDataset(scratch.path("none.txt")); }),
                    scratch.path("none.txt") + ": cannot open: No such file"));
  EXPECT_TRUE(holds(message_of<DataError>([&] { TextDataset(scratch.path("")); }), "is not a regular file"));
  EXPECT_TRUE(
      holds(message_of<DataError>([&] { IndexedDataset(scratch.path("none")); }), scratch.path("none.idx")));
}

TEST(C32_EmptyCorpora, AnEmptyTextIsRefused) {
  const Scratch scratch;
  EXPECT_TRUE(holds(message_of<DataError>([&] { TextDataset(scratch.write("empty.txt", "")); }), "0 bytes"));
}

TEST(Text, ShrinkingUnderARunIsAnErrorNotASignal) {
  const Scratch scratch;
  const TextDataset text(scratch.write("a.txt", std::string(100000, 'x')));
  std::filesystem::resize_file(scratch.path("a.txt"), 10);
  std::vector<int32_t> ids(100);
  EXPECT_TRUE(holds(message_of<DataError>([&] { text.tokens(50000, ids); }),
                    "was cut short after it was opened with 100000 bytes"));
}

}  // namespace
}  // namespace octant::testing
