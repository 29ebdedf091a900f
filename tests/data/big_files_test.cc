// Files beyond 4 GiB, sparse so that they take no room on the disk.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "data/batch_loader.h"
#include "data/indexed_dataset.h"
#include "data/text_dataset.h"
#include "tests/data/scratch.h"

namespace octant::testing {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

void write_at(const std::string& path, int64_t offset, const void* data, size_t bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_EQ(::pwrite(file, data, bytes, offset), static_cast<ssize_t>(bytes));
  ::close(file);
}

// Six sequences of 2^29 - 1 ids of 4 bytes, two documents of three: nearly 12 GiB.
constexpr int64_t kLength = (int64_t{1} << 29) - 1, kSequences = 6, kTokens = kLength * kSequences;

std::string write_big_pair(const Scratch& scratch) {
  std::string index(kIndexMagic.begin(), kIndexMagic.end());
  const auto put = [&index](auto value) {
    index.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(uint64_t{1});
  put(static_cast<uint8_t>(TokenType::kI32));
  put(uint64_t{kSequences});
  put(uint64_t{3});
  for (int64_t i = 0; i < kSequences; ++i) put(static_cast<int32_t>(kLength));
  for (int64_t i = 0; i < kSequences; ++i) put(int64_t{i * kLength * 4});
  for (int64_t document : {0, 3, 6}) put(document);
  scratch.write("big.idx", index);
  scratch.write("big.bin", "");
  std::filesystem::resize_file(scratch.path("big.bin"), static_cast<uintmax_t>(kTokens * 4));
  return scratch.path("big");
}

TEST(C42_BigFiles, OffsetsBeyond4GiB) {
  const Scratch scratch;
  const std::string prefix = write_big_pair(scratch);
  const int32_t marks[] = {11, 12, 13};
  const int64_t token = 3 * kLength + 5;  // byte 6.4e9
  write_at(prefix + ".bin", token * 4, marks, sizeof(marks));
  write_at(prefix + ".bin", kTokens * 4 - 4, marks, 4);
  const IndexedDataset dataset(prefix);
  EXPECT_EQ(dataset.total_tokens(), kTokens);
  std::vector<int32_t> ids(5);
  dataset.tokens(token - 1, ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 11, 12, 13, 0}));
  EXPECT_EQ(dataset.id_at(kTokens - 1), 11);
  EXPECT_EQ(dataset.place_of(token).document, 1);
  EXPECT_EQ(dataset.place_of(token).position, 5);
  EXPECT_EQ(dataset.place_of(kTokens - 1).position, 3 * kLength - 1);
}

TEST(C42_BigFiles, TheLastWindowIsReadByTheLoader) {
  const Scratch scratch;
  const std::string prefix = write_big_pair(scratch);
  const std::vector<int32_t> ones(256, 1);
  write_at(prefix + ".bin", (kTokens - 256) * 4, ones.data(), ones.size() * 4);
  LoaderConfig config;
  config.train = {{SourceKind::kIndexed, prefix, "", 1.0}};
  config.validation_fraction = 1e-9;
  config.sequence_length = 16;
  config.vocab_size = 2;
  const BatchLoader loader(config);
  EXPECT_EQ(loader.train_samples() + loader.validation_samples(), (kTokens - 1) / 16);
  HostBatch batch;
  loader.assemble_validation({}, loader.validation_samples() - 1, 1, batch);
  EXPECT_EQ(batch.tokens, std::vector<int32_t>(16, 1));
  loader.assemble({.micro_batch_size = 4}, 1'000'000'007, batch);
  EXPECT_EQ(batch.counted_tokens, 64);
}

TEST(C30_BigFiles, ABadIdBeyond4GiBIsNamed) {
  const Scratch scratch;
  const std::string prefix = write_big_pair(scratch);
  const int32_t bad = 9;
  write_at(prefix + ".bin", (kTokens - 12) * 4, &bad, 4);
  LoaderConfig config;
  config.train = config.validation = {{SourceKind::kIndexed, prefix, "", 1.0}};
  config.sequence_length = 16;
  config.vocab_size = 5;
  const BatchLoader loader(config);
  HostBatch batch;
  const std::string message = message_of<DataError>(
      [&] { loader.assemble_validation({}, loader.validation_samples() - 1, 1, batch); });
  EXPECT_TRUE(holds(message, "big.bin: document 1, position " + std::to_string(3 * kLength - 12)));
  EXPECT_TRUE(holds(message, "token id 9 is outside the vocabulary of 5 ids"));
}

TEST(C30_BigFiles, ASizeMismatchHasBothNumbers) {
  const Scratch scratch;
  const std::string prefix = write_big_pair(scratch);
  std::filesystem::resize_file(prefix + ".bin", static_cast<uintmax_t>(kTokens * 4 - 1));
  const std::string message = message_of<DataError>([&] { IndexedDataset{prefix}; });
  EXPECT_TRUE(holds(message, "holds " + std::to_string(kTokens * 4 - 1) + " bytes, expected " +
                                 std::to_string(kTokens * 4)));
}

TEST(C42_BigFiles, ATextBeyond4GiB) {
  const Scratch scratch;
  const std::string path = scratch.write("big.txt", "");
  std::filesystem::resize_file(path, static_cast<uintmax_t>(5 * kGiB));
  write_at(path, 5 * kGiB - 3, "end", 3);
  const TextDataset text(path);
  std::vector<int32_t> ids(5);
  text.tokens(5 * kGiB - 4, ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 'e', 'n', 'd', 256}));
  EXPECT_EQ(text.place_of(5 * kGiB - 1).position, 5 * kGiB - 1);
}

}  // namespace
}  // namespace octant::testing
