// Batches on a device: what the layers see is what the loader assembled.
#include "core/cpu/cpu_backend.h"
#include "data/batch_loader.h"
#include "tests/data/scratch.h"

namespace octant::testing {
namespace {

class Batches : public ::testing::Test {
 protected:
  Batches() : device_(cpu::make_backend({.threads = 1}), 0) {}

  BatchLoader loader(double validation_fraction) {
    LoaderConfig config;
    config.train = {{SourceKind::kIndexed,
                     write_pair(scratch_, "a", TokenType::kU16, {{counting(7 * 100 + 1)}}), "", 1.0}};
    config.validation_fraction = validation_fraction;
    config.sequence_length = 7;
    config.vocab_size = 1000;
    return BatchLoader(config);
  }

  Scratch scratch_;
  Device device_;
};

TEST_F(Batches, HoldWhatWasAssembled) {
  const BatchLoader loader = this->loader(0);
  const Cut cut{.data_rank = 1, .data_size = 3, .micro_batch_size = 2, .accumulation = 4};
  HostBatch host;
  loader.assemble(cut, 48, host);
  const Batch batch = loader.load(device_, cut, 48, 2);
  EXPECT_EQ(batch.counted_tokens, 4 * 2 * 7);
  ASSERT_EQ(batch.micro_batches.size(), 4u);
  for (size_t m = 0; m < 4; ++m) {
    const MicroBatch& part = batch.micro_batches[m];
    EXPECT_EQ(part.step, 2);
    EXPECT_TRUE(part.training);
    EXPECT_EQ(part.tokens.shape(), (Shape{2, 7}));
    EXPECT_EQ(part.targets.shape(), (Shape{2, 7}));
    EXPECT_EQ(part.mask.shape(), (Shape{2, 7}));
    EXPECT_EQ(part.sample_ids.shape(), (Shape{2}));
    for (size_t i = 0; i < 14; ++i) {
      EXPECT_EQ(part.tokens.as<int32_t>()[i], host.tokens[m * 14 + i]);
      EXPECT_EQ(part.targets.as<int32_t>()[i], host.targets[m * 14 + i]);
      EXPECT_EQ(part.mask.as<uint8_t>()[i], host.mask[m * 14 + i]);
    }
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(part.sample_ids.as<int64_t>()[i], static_cast<int64_t>(m * 6 + 2 + i));
  }
}

TEST_F(Batches, ValidationIsMarkedAndFilled) {
  const BatchLoader loader = this->loader(0.1);
  const Batch batch =
      loader.load_validation(device_, {.data_rank = 1, .data_size = 2, .micro_batch_size = 8}, 0, 10);
  ASSERT_EQ(batch.micro_batches.size(), 1u);
  EXPECT_FALSE(batch.micro_batches[0].training);
  EXPECT_EQ(batch.counted_tokens, 2 * 7);
  EXPECT_EQ(batch.micro_batches[0].tokens.as<int32_t>()[0], 98 * 7);
  EXPECT_EQ(batch.micro_batches[0].mask.as<uint8_t>()[14], 0);
}

TEST_F(Batches, AreChargedAsDataAndGivenBack) {
  const BatchLoader loader = this->loader(0);
  {
    const Batch batch = loader.load(device_, {.micro_batch_size = 2}, 0, 0);
    EXPECT_GE(device_.ledger().current(MemoryKind::kData), 2 * 7 * 9 + 2 * 8);
    EXPECT_EQ(device_.ledger().current_total(), device_.ledger().current(MemoryKind::kData));
  }
  EXPECT_EQ(device_.ledger().current(MemoryKind::kData), 0);
  const int64_t before = device_.arena_bytes();
  for (int64_t step = 0; step < 5; ++step) loader.load(device_, {.micro_batch_size = 2}, step * 2, step);
  EXPECT_EQ(device_.arena_bytes(), before);
}

}  // namespace
}  // namespace octant::testing
