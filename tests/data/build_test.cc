#include "data/build.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "data/byte_tokenizer.h"
#include "data/info.h"
#include "data/json_line.h"
#include "tests/data/scratch.h"

namespace octant::testing {
namespace {

std::string json_of(const std::string& text) {
  return nlohmann::json{{"text", text}}.dump();
}

BuildOptions options_of(const Scratch& scratch, const std::string& input,
                        BadLines on_error = BadLines::kStop) {
  BuildOptions options;
  options.inputs = {input};
  options.output_prefix = scratch.path("out");
  options.format = CorpusFormat::kJsonLines;
  options.on_error = on_error;
  return options;
}

std::vector<std::string> texts_of(const Scratch& scratch) {
  const IndexedDataset dataset(scratch.path("out"));
  std::vector<std::string> texts;
  for (int64_t i = 0; i < dataset.index().documents(); ++i) texts.push_back(decode_document(dataset, i));
  return texts;
}

const std::vector<std::string> kOddTexts = {
    "plain",
    std::string("a\0b", 3),                          // NUL
    "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC",  // emoji with a joiner
    "e\xCC\x81",                                     // combining mark
    "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",              // right to left
    "<|endoftext|> and </s>",                        // markers are text
    " \t\n",                                         // white space alone is text
    "\xEF\xBB\xBF inside",                           // a mark inside a document
    std::string("quote \" back \\ slash / \b\f\r", 26),
};

TEST(C38_OddText, EveryValidTextSurvives) {
  const Scratch scratch;
  std::string lines = "\xEF\xBB\xBF";
  for (size_t i = 0; i < kOddTexts.size(); ++i) lines += json_of(kOddTexts[i]) + (i % 2 == 1 ? "\r\n" : "\n");
  const BuildReport report = build_dataset(options_of(scratch, scratch.write("x.jsonl", lines)));
  EXPECT_EQ(report.documents, static_cast<int64_t>(kOddTexts.size()));
  EXPECT_EQ(texts_of(scratch), kOddTexts);
  int64_t tokens = 0;
  for (const std::string& text : kOddTexts) tokens += static_cast<int64_t>(text.size()) + 1;
  EXPECT_EQ(report.tokens, tokens);

  std::ostringstream decoded;
  EXPECT_EQ(decode_dataset(IndexedDataset(scratch.path("out")), CorpusFormat::kJsonLines, "text", decoded),
            report.documents);
  std::string expected;
  for (const std::string& text : kOddTexts) expected += json_of(text) + "\n";
  EXPECT_EQ(decoded.str(), expected);
}

// Line, and a part of the reason for which it is bad.
const std::vector<std::pair<std::string, std::string>> kBadLines = {
    {"{\"text\": \"a\xFF\"}", "ill-formed UTF-8"},
    {"{\"text\": \"\xC3\"}", "ill-formed UTF-8"},
    {R"({"text": "\ud800"})", "surrogate"},
    {R"({"text": "\udc00 x"})", "surrogate"},
    {std::string("{\"text\": \"a\0b\"}", 15), "control character"},
    {R"({"body": "x"})", "has no key \"text\""},
    {R"({"inner": {"text": "x"}})", "has no key \"text\""},
    {R"({"text": 5})", "\"text\" is a number, expected a string"},
    {R"({"text": null})", "\"text\" is null, expected a string"},
    {R"({"text": ["x"]})", "\"text\" is an array, expected a string"},
    {R"({"text": {"x": "y"}})", "\"text\" is an object, expected a string"},
    {R"(["text"])", "is an array, expected an object"},
    {R"("text")", "is a string, expected an object"},
    {R"({"text": "a", "text": "b"})", "more than once"},
    {R"({"text": "a"} {"text": "b"})", "not valid JSON"},
    {"{\"text\": \"a\"", "not valid JSON"},
    {"\xEF\xBB\xBF{\"text\": \"a\"}", "byte-order mark"},
    {"{\"text\": \"a\", \"deep\": " + std::string(10000, '[') + std::string(10000, ']') + "}",
     "nested deeper than 256 levels"},
    {std::string(1000000, '['), "is an array"},
    {"{\"a\":" + std::string(1000000, '['), "nested deeper"},
    {R"({"text": "a", "rest": {"x": [1, 2, {]}})", "not valid JSON"},
};

TEST(C38_OddText, EachBadLineHasItsReason) {
  for (const auto& [line, reason] : kBadLines) {
    const JsonText result = read_json_line(line, "text");
    EXPECT_FALSE(result.ok) << line.substr(0, 60);
    EXPECT_TRUE(holds(result.reason, reason)) << line.substr(0, 60);
    EXPECT_LT(result.reason.size(), 300u);
  }
}

TEST(C38_OddText, NestedValuesBesideTheTextAreFine) {
  const JsonText result = read_json_line(
      R"( {"meta": {"text": "no", "n": [1, {"text": 2}]}, "text": "yes", "z": [[]]} )", "text");
  EXPECT_TRUE(result.ok) << result.reason;
  EXPECT_EQ(result.text, "yes");
  EXPECT_EQ(read_json_line(R"({"content": "x", "text": 1})", "content").text, "x");
  EXPECT_TRUE(
      read_json_line("{\"text\": \"a\", \"deep\": " + std::string(250, '[') + std::string(250, ']') + "}",
                     "text")
          .ok);
}

TEST(C38_OddText, StopNamesFileLineAndReasonAndWritesNothing) {
  for (const auto& [line, reason] : kBadLines) {
    const Scratch scratch;
    const std::string input =
        scratch.write("x.jsonl", json_of("good") + "\n\n" + line + "\n" + json_of("good") + "\n");
    const std::string message = message_of<DataError>([&] { build_dataset(options_of(scratch, input)); });
    EXPECT_TRUE(holds(message, input + ":3: "));
    EXPECT_TRUE(holds(message, reason));
    EXPECT_EQ(scratch.files(), 1u);
  }
}

std::string mixed_lines(std::vector<std::string>& valid) {
  std::string lines;
  size_t bad = 0;
  for (int i = 0; i < 500; ++i) {
    if (i % 23 == 7) lines += kBadLines[bad++ % 18].first + "\n";
    if (i % 31 == 3) lines += "  \r\n";
    if (i % 41 == 5) lines += json_of("") + "\n";
    valid.push_back("document " + std::to_string(i * i) +
                    kOddTexts[static_cast<size_t>(i) % kOddTexts.size()]);
    lines += json_of(valid.back()) + "\n";
  }
  return lines + R"({"text": "cut off)";
}

TEST(C38_OddText, SkippedLinesAreCountedAndListed) {
  const Scratch scratch;
  std::vector<std::string> valid;
  const std::string input = scratch.write("x.jsonl", mixed_lines(valid));
  const BuildReport report = build_dataset(options_of(scratch, input, BadLines::kSkip));
  EXPECT_EQ(report.documents, 500);
  EXPECT_EQ(report.skipped, 23);
  EXPECT_EQ(report.blank_lines, 17);
  EXPECT_EQ(report.empty_documents, 13);
  EXPECT_EQ(report.lines, report.documents + report.skipped + report.blank_lines + report.empty_documents);
  ASSERT_EQ(report.skipped_lines.size(), 23u);
  EXPECT_TRUE(holds(report.skipped_lines.back(), input + ":553: is not valid JSON"));
  EXPECT_EQ(texts_of(scratch), valid);
}

TEST(C38_OddText, TheOutputDoesNotDependOnTheWorkers) {
  const Scratch scratch;
  std::vector<std::string> valid;
  BuildOptions options = options_of(scratch, scratch.write("x.jsonl", mixed_lines(valid)), BadLines::kSkip);
  const BuildReport one = build_dataset(options);
  const std::string tokens = scratch.read("out.bin"), index = scratch.read("out.idx");
  for (int workers : {2, 3, 8}) {
    options.workers = workers;
    const BuildReport many = build_dataset(options);
    EXPECT_EQ(scratch.read("out.bin"), tokens);
    EXPECT_EQ(scratch.read("out.idx"), index);
    EXPECT_EQ(many.skipped_lines, one.skipped_lines);
  }
}

TEST(C38_OddText, TenMegabyteLines) {
  const Scratch scratch;
  std::string text(10'000'000, 'x');
  for (size_t i = 0; i < text.size(); i += 97) text[i] = static_cast<char>('a' + i % 26);
  const std::string input =
      scratch.write("x.jsonl", json_of(text) + "\n" + json_of("next") + "\n" + json_of(text));
  BuildOptions options = options_of(scratch, input);
  options.workers = 2;
  EXPECT_EQ(build_dataset(options).documents, 3);
  EXPECT_EQ(texts_of(scratch), (std::vector<std::string>{text, "next", text}));
}

TEST(C32_EmptyDocuments, AreDroppedAndCounted) {
  const Scratch scratch;
  const std::string lines = json_of("") + "\n" + json_of("a") + "\n" + json_of("") + "\n" + json_of("") +
                            "\n" + json_of(" ") + "\n" + json_of("");
  const BuildReport report = build_dataset(options_of(scratch, scratch.write("x.jsonl", lines)));
  EXPECT_EQ(report.documents, 2);
  EXPECT_EQ(report.empty_documents, 4);
  EXPECT_EQ(report.lines, 6);
  EXPECT_EQ(report.tokens, 4);
  const DatasetInfo info = describe(IndexedDataset(scratch.path("out")));
  EXPECT_EQ(info.documents, 2);
  EXPECT_EQ(info.tokens, 4);
  EXPECT_EQ(info.type, TokenType::kU16);
}

TEST(C32_EmptyDocuments, AnEmptyCorpusIsRefused) {
  const Scratch scratch;
  for (const std::string& lines : {std::string(), std::string("\n\n"), json_of("") + "\n" + json_of("")}) {
    const std::string input = scratch.write("x.jsonl", lines);
    EXPECT_TRUE(
        holds(message_of<DataError>([&] { build_dataset(options_of(scratch, input)); }), "holds any text"));
    EXPECT_EQ(scratch.files(), 1u);
  }
}

TEST(Build, TextFilesAreOneDocumentEach) {
  const Scratch scratch;
  BuildOptions options;
  options.inputs = {scratch.write("a.txt", "first\n"), scratch.write("none.txt", ""),
                    scratch.write("b.txt", std::string(3'000'001, 'b'))};
  options.output_prefix = scratch.path("out");
  const BuildReport report = build_dataset(options);
  EXPECT_EQ(report.documents, 2);
  EXPECT_EQ(report.empty_documents, 1);
  EXPECT_EQ(texts_of(scratch), (std::vector<std::string>{"first\n", std::string(3'000'001, 'b')}));
  EXPECT_EQ(IndexedDataset(scratch.path("out")).index().sequences(), 2);
  std::ostringstream decoded;
  decode_dataset(IndexedDataset(scratch.path("out")), CorpusFormat::kText, "", decoded);
  EXPECT_EQ(decoded.str(), "first\n" + std::string(3'000'001, 'b'));
}

TEST(Build, EndOfDocumentIsAnOption) {
  const Scratch scratch;
  BuildOptions options = options_of(scratch, scratch.write("x.jsonl", json_of("ab")));
  build_dataset(options);
  EXPECT_EQ(IndexedDataset(scratch.path("out")).id_at(2), ByteTokenizer::kEndOfDocument);
  options.append_eod = false;
  EXPECT_EQ(build_dataset(options).tokens, 2);
}

TEST(Build, BadOptionsAndFilesAreNamed) {
  const Scratch scratch;
  EXPECT_TRUE(holds(message_of<DataError>([&] { build_dataset(options_of(scratch, scratch.path("none"))); }),
                    scratch.path("none") + ": cannot open"));
  EXPECT_THROW(build_dataset(BuildOptions{}), UserError);
  BuildOptions options = options_of(scratch, scratch.write("x.jsonl", json_of("ab")));
  options.workers = 0;
  EXPECT_THROW(build_dataset(options), UserError);
  options.workers = 1;
  options.output_prefix = scratch.path("no/such/folder/out");
  EXPECT_TRUE(
      holds(message_of<DataError>([&] { build_dataset(options); }), "no/such/folder/out.bin: cannot create"));
}

TEST(Info, CountsWhatIsThere) {
  const Scratch scratch;
  const DatasetInfo info =
      describe(IndexedDataset(write_pair(scratch, "a", TokenType::kI32, {{{1, 2, 3}, {}}, {}, {{}}, {{4}}})));
  EXPECT_EQ(info.sequences, 4);
  EXPECT_EQ(info.empty_sequences, 2);
  EXPECT_EQ(info.documents, 4);
  EXPECT_EQ(info.empty_documents, 2);
  EXPECT_EQ(info.tokens, 4);
  EXPECT_EQ(info.bytes, 16);
  EXPECT_EQ(info.shortest_sequence, 0);
  EXPECT_EQ(info.longest_sequence, 3);
  EXPECT_EQ(describe(IndexedDataset(write_pair(scratch, "b", TokenType::kU8, {}))).shortest_sequence, 0);
}

TEST(C35_Scan, ListsEveryPlace) {
  const Scratch scratch;
  std::vector<int32_t> long_one = counting(70000);
  for (int32_t& id : long_one) id %= 50;
  long_one[66000] = 65535;
  const IndexedDataset dataset(
      write_pair(scratch, "a", TokenType::kI32, {{{1, 50, 3}}, {long_one}, {{4}, {5, -2}}}));
  const ScanReport report = scan_ids(dataset, 50);
  EXPECT_EQ(report.tokens, 70006);
  EXPECT_EQ(report.outside, 3);
  EXPECT_EQ(report.largest_id, 65535);
  EXPECT_EQ(report.smallest_id, 0);
  ASSERT_EQ(report.places.size(), 3u);
  EXPECT_EQ(report.places[0].id, 50);
  EXPECT_EQ(report.places[1].id, 65535);
  EXPECT_EQ(report.places[1].place.document, 1);
  EXPECT_EQ(report.places[1].place.position, 66000);
  EXPECT_EQ(report.places[2].id, -2);
  EXPECT_EQ(report.places[2].place.document, 2);
  EXPECT_EQ(report.places[2].place.position, 2);
  EXPECT_EQ(scan_ids(dataset, 50, 1).places.size(), 1u);
  EXPECT_EQ(scan_ids(dataset, 65536).outside, 1);
}

}  // namespace
}  // namespace octant::testing
