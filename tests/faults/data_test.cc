// Data that is not what it should be: refused at the start in every layout, with 3, by file and number; never
// a signal.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>

#include "data/indexed_writer.h"
#include "tests/faults/job.h"

namespace octant::faults {
namespace {

namespace fs = std::filesystem;

const std::array<std::string, 3> kLayouts = {"parallel={tensor:1}", "parallel={tensor:2}",
                                             "parallel={pipeline:2}"};

class BadData : public Faults {
 protected:
  static constexpr const char* kIndexed = "data={train{indexed{prefix:\"books\"}}}";

  void write_pair(int64_t bad_document = -1, int32_t bad_id = 0, TokenType type = TokenType::kU16) const {
    IndexedWriter writer((folder() / "books").string(), type);
    for (int64_t document = 0; document < 40; ++document) {
      std::vector<int32_t> ids(50);
      for (size_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<int32_t>((static_cast<size_t>(document) * 31 + i * 7) % 257);
      if (document == bad_document) ids[17] = bad_id;
      writer.add_sequence(ids);
      writer.end_document();
    }
    writer.commit();
  }
  std::string bytes_of(const std::string& name) const {
    std::ifstream file(folder() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder() / name, std::ios::binary) << bytes;
  }
  void expect_refused(std::initializer_list<std::string> parts) const {
    for (const std::string& layout : kLayouts) {
      SCOPED_TRACE(layout);
      const Ended ended = train({kIndexed, layout});
      expect_message(ended, 3, parts);
      EXPECT_EQ(ended.out.find("step 1"), std::string::npos) << ended.out;
    }
  }
  // Trains longer than one epoch, so that the sample with the id is drawn; ids are checked as they are read.
  void expect_refused_when_drawn(std::initializer_list<std::string> parts) const {
    std::vector<int64_t> steps;
    for (const std::string& layout : kLayouts) {
      SCOPED_TRACE(layout);
      expect_message(train({kIndexed, layout, "training.steps=20"}), 3, parts);
      steps.push_back(steps_done());
    }
    EXPECT_LT(steps.front(), 20);
    EXPECT_EQ(steps, std::vector<int64_t>(steps.size(), steps.front()))
        << "before the update of the same batch";
  }
};

TEST_F(BadData, MissingText) {
  fs::remove(folder() / "corpus.txt");
  for (const Ranks kind : {Ranks::kThreads, Ranks::kMpi})
    expect_message(train({"parallel.data=2"}, kind), 3, {"corpus.txt", "No such file"});
}

TEST_F(BadData, EmptyText) {
  write("corpus.txt", "");
  for (const std::string& layout : kLayouts) expect_message(train({layout}), 3, {"corpus.txt"});
}

TEST_F(BadData, TextShorterThanASample) {
  write("corpus.txt", "too short");
  expect_message(train({}), 3, {"corpus.txt"});
}

TEST_F(BadData, C37_GoodPairIsReadInEveryLayout) {
  write_pair();
  for (const std::string& layout : kLayouts) {
    const Ended ended = train({kIndexed, layout});
    EXPECT_EQ(ended.code, 0) << ended.text();
  }
}

TEST_F(BadData, C37_MissingParts) {
  expect_refused({"books"});
  write_pair();
  fs::remove(folder() / "books.idx");
  expect_refused({"books.idx"});
  write_pair();
  fs::remove(folder() / "books.bin");
  expect_refused({"books.bin"});
}

TEST_F(BadData, C37_TruncatedTokens) {
  write_pair();
  const std::string whole = bytes_of("books.bin");
  for (const size_t kept : {whole.size() - 1, whole.size() / 2, size_t{0}}) {
    write("books.bin", whole.substr(0, kept));
    expect_refused({"books", std::to_string(whole.size()), std::to_string(kept)});
  }
}

TEST_F(BadData, C37_TruncatedOrForeignIndex) {
  write_pair();
  const std::string whole = bytes_of("books.idx");
  for (const size_t kept :
       {size_t{0}, size_t{5}, size_t{20}, size_t{34 + 50}, size_t{34 + 160 + 9}, whole.size() - 1}) {
    write("books.idx", whole.substr(0, kept));
    expect_refused({"books.idx"});
  }
  std::string foreign = whole;
  foreign.replace(0, 5, "HELLO");
  write("books.idx", foreign);
  expect_refused({"books.idx"});
  write("books.idx", bytes_of("corpus.txt"));
  expect_refused({"books.idx"});
}

// Loaded, the id would pick another row, or none; refused by file, document and id in every layout.
TEST_F(BadData, C35_TokenOutsideTheVocabulary) {
  write_pair(23, 257);
  expect_refused_when_drawn({"books", "257", "document 23"});
  write_pair(11, 65535);
  expect_refused_when_drawn({"books", "65535", "document 11"});
  write_pair(5, -3, TokenType::kI32);
  expect_refused_when_drawn({"books", "-3", "document 5"});
}

TEST_F(BadData, C35_PaddingRowsAreOutsideToo) {
  write_pair(23, 257);
  expect_message(train({kIndexed, "training.steps=20", "parallel={tensor:2 vocab_padding_multiple:128}"}), 3,
                 {"257", "document 23"});
  expect_message(train({kIndexed, "training.steps=20", "parallel={tensor:2}"}, Ranks::kMpi), 3,
                 {"257", "document 23"});
}

}  // namespace
}  // namespace octant::faults
