#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include "data/batch_loader.h"
#include "data/indexed_dataset.h"
#include "tests/data/scratch.h"

namespace octant::testing {
namespace {

constexpr int64_t kT = 4;

LoaderConfig config_of(std::vector<SourceConfig> train, double validation_fraction = 0,
                       int64_t vocab = 100000) {
  LoaderConfig config;
  config.train = std::move(train);
  config.validation_fraction = validation_fraction;
  config.sequence_length = kT;
  config.vocab_size = vocab;
  config.seed = 1234;
  return config;
}

SourceConfig indexed(const std::string& prefix, double weight = 1.0) {
  return {SourceKind::kIndexed, prefix, "", weight};
}

// First token of every row: with ids that count up, it says which window the row is.
std::vector<int64_t> windows_of(const HostBatch& batch) {
  std::vector<int64_t> windows;
  for (size_t i = 0; i < batch.tokens.size(); i += kT) windows.push_back(batch.tokens[i] / kT);
  return windows;
}

// The rows of a global batch by their place in it, put together from all data ranks of a cut.
std::map<int64_t, std::vector<int32_t>> global_batch(const BatchLoader& loader, Cut cut, int64_t consumed) {
  std::map<int64_t, std::vector<int32_t>> rows;
  HostBatch batch;
  for (cut.data_rank = 0; cut.data_rank < cut.data_size; ++cut.data_rank) {
    loader.assemble(cut, consumed, batch);
    for (size_t i = 0; i < batch.sample_ids.size(); ++i) {
      const auto begin = batch.tokens.begin() + static_cast<int64_t>(i) * kT;
      EXPECT_TRUE(rows.emplace(batch.sample_ids[i], std::vector<int32_t>(begin, begin + kT)).second);
    }
  }
  return rows;
}

TEST(Loader, TargetsAreTheTokensOneToTheRight) {
  const Scratch scratch;
  const BatchLoader loader(config_of({indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(41)}}))}));
  EXPECT_EQ(loader.train_samples(), 10);
  HostBatch batch;
  loader.assemble({.micro_batch_size = 10}, 0, batch);
  for (size_t i = 0; i < batch.tokens.size(); ++i) EXPECT_EQ(batch.targets[i], batch.tokens[i] + 1);
  EXPECT_EQ(batch.counted_tokens, 40);
  std::vector<int64_t> windows = windows_of(batch);
  EXPECT_FALSE(std::is_sorted(windows.begin(), windows.end()));
  std::sort(windows.begin(), windows.end());
  EXPECT_EQ(windows, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Loader, WindowsAreCountedAtTheEdges) {
  const Scratch scratch;
  const auto samples = [&](int64_t tokens) {
    return BatchLoader(config_of({indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(tokens)}}))}))
        .train_samples();
  };
  EXPECT_EQ(samples(5), 1);
  EXPECT_EQ(samples(8), 1);
  EXPECT_EQ(samples(9), 2);
  EXPECT_TRUE(holds(message_of<DataError>([&] { samples(4); }), "holds 4 tokens, but one sample needs 5"));
  EXPECT_TRUE(holds(message_of<DataError>([&] { samples(0); }), "holds 0 tokens, but one sample needs 5"));
}

TEST(Loader, AnEpochIsDisjointAndCompleteForEveryDataSize) {
  const Scratch scratch;
  const BatchLoader loader(
      config_of({indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(kT * 24 + 1)}}))}));
  for (int64_t data_size : {1, 2, 3, 4}) {
    for (int64_t epoch : {0, 1}) {
      std::vector<int64_t> seen;
      for (int64_t rank = 0; rank < data_size; ++rank) {
        HostBatch batch;
        for (int64_t step = 0; step < 24 / (2 * data_size); ++step) {
          const Cut cut{.data_rank = rank, .data_size = data_size, .micro_batch_size = 2};
          loader.assemble(cut, epoch * 24 + step * cut.global_batch(), batch);
          for (int64_t window : windows_of(batch)) seen.push_back(window);
        }
      }
      std::sort(seen.begin(), seen.end());
      ASSERT_EQ(seen.size(), 24u) << data_size;
      for (int64_t i = 0; i < 24; ++i) ASSERT_EQ(seen[static_cast<size_t>(i)], i) << data_size;
    }
  }
}

TEST(Loader, TheGlobalBatchDoesNotDependOnTheCut) {
  const Scratch scratch;
  const BatchLoader loader(
      config_of({indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(500)}}), 0.7),
                 indexed(write_pair(scratch, "b", TokenType::kI32, {{counting(300, 1000)}}), 0.3)}));
  const auto reference = global_batch(loader, {.micro_batch_size = 24}, 24);
  ASSERT_EQ(reference.size(), 24u);
  for (int64_t data_size : {1, 2, 3, 4}) {
    for (int64_t micro : {1, 2, 3}) {
      const Cut cut{
          .data_size = data_size, .micro_batch_size = micro, .accumulation = 24 / (data_size * micro)};
      if (cut.global_batch() != 24) continue;
      EXPECT_EQ(global_batch(loader, cut, 24), reference) << data_size << " " << micro;
    }
  }
}

TEST(Loader, SampleIdsFollowTheDocumentedPlace) {
  const Scratch scratch;
  const BatchLoader loader(
      config_of({indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(500)}}))}));
  HostBatch batch;
  loader.assemble({.data_rank = 1, .data_size = 3, .micro_batch_size = 2, .accumulation = 2}, 0, batch);
  EXPECT_EQ(batch.sample_ids, (std::vector<int64_t>{2, 3, 8, 9}));
}

TEST(Loader, AResumedRunGoesOnWhereItWas) {
  const Scratch scratch;
  const std::string prefix = write_pair(scratch, "a", TokenType::kI32, {{counting(400)}});
  const std::string other = write_pair(scratch, "b", TokenType::kI32, {{counting(90, 1000)}});
  const LoaderConfig config = config_of({indexed(prefix, 2), indexed(other, 1)});
  const BatchLoader straight(config);
  const Cut two{.data_size = 2, .micro_batch_size = 3, .accumulation = 2};
  const Cut four{.data_size = 4, .micro_batch_size = 1, .accumulation = 3};
  for (int64_t step = 0; step < 40; ++step) {
    const auto rows = global_batch(straight, two, step * 12);
    if (step % 9 != 5) continue;
    EXPECT_EQ(global_batch(BatchLoader(config), four, step * 12), rows) << step;
  }
}

TEST(Loader, SeedAndDataChangeTheOrder) {
  const Scratch scratch;
  LoaderConfig config = config_of({indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(400)}}))});
  const BatchLoader first(config);
  const auto rows = global_batch(first, {.micro_batch_size = 20}, 0);
  config.seed = 1235;
  EXPECT_NE(global_batch(BatchLoader(config), {.micro_batch_size = 20}, 0), rows);
  EXPECT_EQ(BatchLoader(config).fingerprint(), first.fingerprint());
  config.train.push_back(indexed(write_pair(scratch, "b", TokenType::kI32, {{counting(400, 7)}})));
  EXPECT_NE(BatchLoader(config).fingerprint(), first.fingerprint());
}

TEST(Loader, ThreadsMayShareOne) {
  const Scratch scratch;
  const BatchLoader loader(
      config_of({indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(4000)}}), 1),
                 indexed(write_pair(scratch, "b", TokenType::kI32, {{counting(900, 5000)}}), 2)}));
  const Cut cut{.micro_batch_size = 8};
  std::array<std::vector<int32_t>, 4> seen;
  {
    std::vector<std::jthread> threads;
    for (auto& tokens : seen)
      threads.emplace_back([&] {
        HostBatch batch;
        for (int64_t step = 0; step < 50; ++step) {
          loader.assemble(cut, 20000 + step * 8, batch);
          tokens.insert(tokens.end(), batch.tokens.begin(), batch.tokens.end());
        }
      });
  }
  for (const auto& tokens : seen) EXPECT_EQ(tokens, seen[0]);
}

TEST(Loader, SourceMaskAndEndOfDocumentDecideWhatCounts) {
  const Scratch scratch;
  LoaderConfig config =
      config_of({indexed(write_pair(scratch, "a", TokenType::kU16, {{{1, 2, 256, 4, 256}}}))}, 0, 257);
  HostBatch batch;
  BatchLoader(config).assemble({}, 0, batch);
  EXPECT_EQ(batch.mask, (std::vector<uint8_t>{1, 1, 1, 1}));
  config.eod_mask_loss = true;
  BatchLoader(config).assemble({}, 0, batch);
  EXPECT_EQ(batch.tokens, (std::vector<int32_t>{1, 2, 256, 4}));
  EXPECT_EQ(batch.mask,
            (std::vector<uint8_t>{1, 1, 0, 1}));  // nothing is learnt from an end-of-document input
  config.train[0].mask_prefix = write_pair(scratch, "mask", TokenType::kU8, {{{0, 0, 1, 1, 1}}});
  BatchLoader(config).assemble({}, 0, batch);
  EXPECT_EQ(batch.mask, (std::vector<uint8_t>{0, 1, 0, 1}));  // a token's mask is that of the target
  EXPECT_EQ(batch.counted_tokens, 2);
  config.train[0].mask_prefix = write_pair(scratch, "none", TokenType::kU8, {{{0, 0, 0, 0, 0}}});
  BatchLoader(config).assemble({}, 0, batch);
  EXPECT_EQ(batch.counted_tokens, 0);
}

TEST(Loader, ValidationIsTheEndAndIsNeverTrainedOn) {
  const Scratch scratch;
  const BatchLoader loader(
      config_of({indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(kT * 100 + 3)}})),
                 indexed(write_pair(scratch, "b", TokenType::kI32, {{counting(kT * 25 + 1, 4000)}}))},
                0.1));
  EXPECT_EQ(loader.train_samples(), 90 + 22);
  EXPECT_EQ(loader.validation_samples(), 10 + 3);
  HostBatch batch;
  loader.assemble_validation({.micro_batch_size = 13}, 0, 13, batch);
  EXPECT_EQ(windows_of(batch),
            (std::vector<int64_t>{90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 1022, 1023, 1024}));
  std::set<int32_t> held(batch.targets.begin(), batch.targets.end());
  loader.assemble({.micro_batch_size = 224}, 0, batch);
  for (int32_t target : batch.targets) ASSERT_FALSE(held.contains(target));
}

TEST(Loader, AFractionThatLeavesNothingIsRefused) {
  const Scratch scratch;
  const std::string prefix = write_pair(scratch, "a", TokenType::kI32, {{counting(kT + 1)}});
  EXPECT_TRUE(holds(message_of<DataError>([&] { BatchLoader(config_of({indexed(prefix)}, 0.01)); }),
                    "takes 1 of its 1 samples"));
  EXPECT_THROW(BatchLoader(config_of({indexed(prefix)}, 1.0)), UserError);
  EXPECT_THROW(BatchLoader(config_of({indexed(prefix)}, -0.1)), UserError);
  LoaderConfig both = config_of({indexed(prefix)}, 0.1);
  both.validation = {indexed(prefix)};
  EXPECT_THROW(BatchLoader{both}, UserError);
  EXPECT_THROW(BatchLoader(config_of({})), UserError);
}

// Every sequence once, in natural order, the rest masked filler, whatever the number of ranks; some have none
// at all.
void expect_exactly_once(int64_t sequences, int64_t micro, int64_t data_size) {
  const Scratch scratch;
  LoaderConfig config = config_of({indexed(write_pair(scratch, "t", TokenType::kI32, {{counting(50)}}))});
  config.validation = {indexed(write_pair(scratch, "v", TokenType::kI32, {{counting(kT * sequences + 1)}}))};
  const BatchLoader loader(config);
  ASSERT_EQ(loader.validation_samples(), sequences);
  Cut cut{.data_size = data_size, .micro_batch_size = micro};
  std::vector<int64_t> seen;
  int64_t counted = 0;
  for (int64_t first = 0; first < sequences; first += cut.global_batch()) {
    const int64_t count = std::min(cut.global_batch(), sequences - first);
    for (cut.data_rank = 0; cut.data_rank < data_size; ++cut.data_rank) {
      HostBatch batch;
      loader.assemble_validation(cut, first, count, batch);
      ASSERT_EQ(batch.sample_ids.size(), static_cast<size_t>(micro));
      counted += batch.counted_tokens;
      for (size_t row = 0; row < batch.sample_ids.size(); ++row) {
        const bool real = batch.mask[row * kT] == 1;
        for (size_t t = 0; t < kT; ++t) EXPECT_EQ(batch.mask[row * kT + t], real ? 1 : 0);
        if (!real) continue;
        EXPECT_EQ(batch.tokens[row * kT] / kT, first + batch.sample_ids[row]);
        seen.push_back(first + batch.sample_ids[row]);
      }
    }
  }
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), static_cast<size_t>(sequences));
  for (int64_t i = 0; i < sequences; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  EXPECT_EQ(counted, sequences * kT);
}

TEST(C34_Validation, EverySequenceExactlyOnce) {
  for (int64_t data_size : {1, 2, 3, 4}) {
    expect_exactly_once(22, 8, data_size);
    expect_exactly_once(3, 1, data_size);
    expect_exactly_once(3, 8, data_size);
  }
}

TEST(C34_Validation, ACountShorterThanTheSplitIsKept) {
  const Scratch scratch;
  LoaderConfig config = config_of({indexed(write_pair(scratch, "t", TokenType::kI32, {{counting(50)}}))});
  config.validation = config.train;
  const BatchLoader loader(config);
  HostBatch batch;
  loader.assemble_validation({.micro_batch_size = 8}, 2, 5, batch);
  EXPECT_EQ(batch.counted_tokens, 5 * kT);
  EXPECT_EQ(batch.tokens[0], 2 * kT);
  EXPECT_THROW(loader.assemble_validation({.micro_batch_size = 8}, 0, 9, batch), BugError);
}

TEST(C32_EmptySequences, NeverChangeTheOrder) {
  const Scratch scratch;
  const std::vector<int32_t> first = counting(37), second = counting(58, 37);
  const std::string plain = write_pair(scratch, "plain", TokenType::kU16, {{first}, {second}});
  const std::string odd =
      write_pair(scratch, "odd", TokenType::kU16,
                 {{{}}, {}, {{}, {}, {}, first}, {{}, {}, {}}, {}, {}, {}, {second, {}}, {{}}});
  const BatchLoader a(config_of({indexed(plain)})), b(config_of({indexed(odd)}));
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  for (int64_t step = 0; step < 20; ++step)
    EXPECT_EQ(global_batch(a, {.micro_batch_size = 4}, step * 4),
              global_batch(b, {.micro_batch_size = 4}, step * 4));
  const IndexedDataset dataset(odd);
  EXPECT_EQ(dataset.place_of(0).document, 2);
  EXPECT_EQ(dataset.place_of(37).document, 7);
  EXPECT_EQ(dataset.place_of(94).position, 57);
}

class C35_BadIds : public ::testing::Test {
 protected:
  // Two documents of 20 and 21 ids; `id` at token 30, which is input of window 7 and target of it, position
  // 10 of document 1.
  std::string with_id(TokenType type, int32_t id) {
    Document document = {counting(41)};
    document[0][30] = id;
    return write_pair(
        scratch_, "bad", type,
        {{{document[0].begin(), document[0].begin() + 20}}, {{document[0].begin() + 20, document[0].end()}}});
  }
  LoaderConfig config(const std::string& prefix) { return config_of({indexed(prefix)}, 0, 50); }

  Scratch scratch_;
};

TEST_F(C35_BadIds, EveryCutRefusesWithPlaceIdAndVocabulary) {
  const std::vector<std::pair<TokenType, int32_t>> bad = {
      {TokenType::kU16, 50}, {TokenType::kU16, 65535}, {TokenType::kI32, -7}};
  for (const auto& [type, id] : bad) {
    const BatchLoader loader(config(with_id(type, id)));
    const std::string message = message_of<DataError>([&] {
      HostBatch batch;
      loader.assemble({.micro_batch_size = 10}, 0, batch);
    });
    EXPECT_TRUE(holds(message, scratch_.path("bad.bin") +
                                   ": document 1, position 10 (both from 0): token id " + std::to_string(id) +
                                   " is outside the vocabulary of 50 ids"));
    for (int64_t data_size : {2, 5}) {
      std::set<std::string> messages;
      for (int64_t rank = 0; rank < data_size; ++rank) {
        try {
          HostBatch batch;
          loader.assemble({.data_rank = rank, .data_size = data_size, .micro_batch_size = 10 / data_size}, 0,
                          batch);
        } catch (const DataError& error) {
          messages.insert(error.what());
        }
      }
      EXPECT_EQ(messages, std::set<std::string>{message});
    }
  }
}

TEST_F(C35_BadIds, TheLastTargetIsLookedAtToo) {
  LoaderConfig only_target = config(write_pair(scratch_, "t", TokenType::kU16, {{{1, 2, 3, 4, 50}}}));
  const BatchLoader loader(only_target);
  HostBatch batch;
  EXPECT_THROW(loader.assemble({}, 0, batch), DataError);
}

TEST_F(C35_BadIds, SkipMasksTheSampleAndReportsItOnce) {
  LoaderConfig skip = config(with_id(TokenType::kI32, 77));
  skip.on_error = BadIds::kSkip;
  const BatchLoader loader(skip);
  HostBatch batch;
  for (int epoch = 0; epoch < 3; ++epoch) {
    loader.assemble({.micro_batch_size = 10}, epoch * 10, batch);
    EXPECT_EQ(batch.counted_tokens, 9 * kT);
  }
  EXPECT_LT(*std::max_element(batch.tokens.begin(), batch.tokens.end()), 50);
  EXPECT_LT(*std::max_element(batch.targets.begin(), batch.targets.end()), 50);
  const SkippedSamples skipped = loader.skipped();
  EXPECT_EQ(skipped.samples, 1);
  ASSERT_EQ(skipped.first.size(), 1u);
  EXPECT_TRUE(holds(skipped.first[0], "token id 77"));
}

TEST_F(C35_BadIds, ATextNeedsTheByteVocabulary) {
  LoaderConfig small =
      config_of({{SourceKind::kText, scratch_.write("a.txt", "some text"), "", 1.0}}, 0, 256);
  EXPECT_TRUE(holds(message_of<UserError>([&] { BatchLoader{small}; }), "use 257 or more"));
  small.vocab_size = 257;
  EXPECT_EQ(BatchLoader(small).train_samples(), 2);
}

TEST(C40_Blending, ASourceOfWeightZeroIsNeverOpened) {
  const Scratch scratch;
  const BatchLoader loader(config_of({indexed(scratch.path("missing"), 0),
                                      indexed(write_pair(scratch, "a", TokenType::kI32, {{counting(50)}}))}));
  std::vector<Sample> samples(500);
  loader.samples(0, samples);
  for (const Sample& sample : samples) ASSERT_EQ(sample.source, 1);
  EXPECT_EQ(loader.summary()[0].weight, 0.0);
  EXPECT_EQ(loader.summary()[1].weight, 1.0);
  EXPECT_EQ(loader.summary()[1].train_samples, 12);
}

TEST(Loader, NoticesArePassedOn) {
  const Scratch scratch;
  const std::string prefix = write_pair(scratch, "a", TokenType::kI32, {{counting(50)}});
  scratch.write("a.bin", scratch.read("a.bin") + "tail");
  const BatchLoader loader(config_of({indexed(prefix), indexed(prefix)}));
  EXPECT_EQ(loader.notices().size(), 1u);
}

}  // namespace
}  // namespace octant::testing
