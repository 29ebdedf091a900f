// What the data do to a run: ids outside the vocabulary, several epochs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/train/run.h"

namespace octant::runs {
namespace {

// Documents of 50 tokens; document 3 has `id` at position 20.
void write_with(const Folder& folder, const std::string& name, int32_t id) {
  std::vector<std::vector<int32_t>> documents(6);
  for (int32_t document = 0; document < 6; ++document)
    for (int32_t i = 0; i < 50; ++i)
      documents[static_cast<size_t>(document)].push_back((document * 31 + i * 7) % 257);
  documents[3][20] = id;
  write_pair(folder, name, documents);
}

TEST(C35_TokenOutsideTheVocabulary, IsRefusedAlikeInEveryLayout) {
  const Folder folder;
  for (int32_t id : {257, 65535, -1}) {
    const std::string name = fmt::format("bad{}", id);
    write_with(folder, name, id);
    for (const Set& cut : {layout(1, 1, 1, 0), layout(1, 2, 1, 0), layout(1, 1, 2, 0), layout(2, 1, 2, 3)})
      for (const char* padding :
           {"parallel.vocab_padding_multiple=1", "parallel.vocab_padding_multiple=128"}) {
        // 18 windows: the bad one is met in the first two steps.
        const Outcome bad = run(folder, "run", {data_of(folder, name, false), padding}, cut);
        EXPECT_EQ(bad.exit_code, 3) << name_of(cut);
        for (const std::string& part : {std::to_string(id), std::string("document 3"),
                                        std::string("position 20"), std::string("257"), name})
          EXPECT_NE(bad.message.find(part), std::string::npos) << part << " in: " << bad.message;
        EXPECT_LE(bad.steps.size(), 1u);
      }
  }
}

TEST(C35_TokenOutsideTheVocabulary, IsLeftOutOnRequestCountedAndReported) {
  const Folder folder;
  write_with(folder, "bad", 257);
  const Set set = {data_of(folder, "bad", false), "training.steps=3", "checkpoint.interval=3"};
  std::optional<Outcome> one;
  for (const Set& cut : {layout(1, 1, 1, 0), layout(1, 2, 1, 0), layout(1, 1, 2, 0), layout(2, 1, 2, 3)}) {
    Outcome skipping = good_run(folder, fmt::format("run {}", name_of(cut)), set,
                                {"data.on_error=SKIP", cut[0], cut[1], cut[2], cut[3]});
    ASSERT_EQ(skipping.steps.size(), 3u);
    // 36 samples over 18 windows: the bad window comes twice.
    EXPECT_EQ(skipping.steps.back()["total_tokens"], (36 - 2) * 16);
    EXPECT_TRUE(skipping.printed("document 3")) << skipping.output;
    EXPECT_TRUE(skipping.printed(cut == layout(2, 1, 2, 3) ? "SKIP left out" : "SKIP left out 1 sample "))
        << skipping.output;
    if (!one)
      one = std::move(skipping);
    else
      expect_tol32(*one, skipping, name_of(cut));
  }
}

TEST(Epochs, FollowOneAnother) {
  const Folder folder;
  std::vector<std::vector<int32_t>> tokens(1);
  for (int32_t i = 0; i < 10 * 16 + 1; ++i) tokens[0].push_back(i * i % 257);
  write_pair(folder, "small", tokens);
  // 10 windows, batches of 12: every batch crosses an epoch.
  const Set set = {data_of(folder, "small", false), "training.steps=20", "checkpoint.interval=10"};
  const Outcome straight = good_run(folder, "straight", set);
  ASSERT_EQ(straight.steps.size(), 20u);
  EXPECT_EQ(straight.steps.back()["total_tokens"], 20 * 12 * 16);
  EXPECT_LT(straight.losses()[19], straight.losses()[0] - 0.3);
  const Outcome many = good_run(folder, "many", set, layout(3, 1, 2, 2));
  expect_tol32(straight, many, "data 3 pipeline 2");
}

}  // namespace
}  // namespace octant::runs
