#include "data/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "core/error.h"
#include "data/byte_tokenizer.h"
#include "data/indexed_writer.h"
#include "data/json_line.h"
#include "data/line_reader.h"

namespace octant {

namespace {

constexpr size_t kListed = 1000;
// Enough text to share among workers, little enough to hold.
constexpr size_t kBatchBytes = size_t{8} << 20;
constexpr int64_t kPieceBytes = int64_t{1} << 20;
// A text beyond this many bytes becomes several sequences of its one document; an index counts a sequence in
// 31 bits.
constexpr int64_t kLongestSequence = int64_t{1} << 30;

class Builder {
 public:
  explicit Builder(const BuildOptions& options)
      : options_(options), writer_(options.output_prefix, token_type_for(ByteTokenizer::kVocabularySize)) {}

  void add_text(const std::string& path) {
    const InputFile file(path);
    ++report_.lines;
    if (file.size() == 0) {
      ++report_.empty_documents;
      return;
    }
    std::string piece;
    for (int64_t done = 0; done < file.size(); done += kPieceBytes) {
      if (done > 0 && done % kLongestSequence == 0) writer_.end_sequence();
      piece.resize(static_cast<size_t>(std::min(kPieceBytes, file.size() - done)));
      file.read(done, piece.data(), static_cast<int64_t>(piece.size()));
      writer_.append(ByteTokenizer::encode(piece));
    }
    end_document();
  }

  void add_json_lines(const std::string& path) {
    LineReader reader(path);
    size_t bytes = 0;
    lines_.clear();
    std::string line;
    while (reader.next(line)) {
      bytes += line.size();
      lines_.push_back(std::exchange(line, {}));
      if (bytes < kBatchBytes) continue;
      add_batch(path, reader.number());
      bytes = 0;
    }
    add_batch(path, reader.number());
  }

  BuildReport finish() {
    if (report_.documents == 0)
      throw DataError(
          fmt::format("{}: none of the {} lines of the input holds any text ({} empty documents, {} blank "
                      "lines, {} skipped); "
                      "nothing is written",
                      options_.inputs.front(), report_.lines, report_.empty_documents, report_.blank_lines,
                      report_.skipped));
    writer_.commit();
    report_.tokens = writer_.total_tokens();
    return std::move(report_);
  }

 private:
  static bool is_blank(const std::string& line) {
    return line.find_first_not_of(" \t\r") == std::string::npos;
  }

  // Parses the lines held, in parallel, then takes them in order. `last` is the number of the last of them.
  void add_batch(const std::string& path, int64_t last) {
    parsed_.assign(lines_.size(), {});
    const size_t workers =
        std::clamp<size_t>(static_cast<size_t>(options_.workers), 1, std::max<size_t>(lines_.size(), 1));
    const auto work = [this, workers](size_t worker) {
      for (size_t i = worker; i < lines_.size(); i += workers)
        if (!is_blank(lines_[i])) parsed_[i] = read_json_line(lines_[i], options_.key);
    };
    {
      std::vector<std::jthread> threads;
      for (size_t worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
      work(0);
    }
    int64_t number = last - static_cast<int64_t>(lines_.size());
    for (size_t i = 0; i < lines_.size(); ++i) {
      ++number;
      ++report_.lines;
      if (is_blank(lines_[i]))
        ++report_.blank_lines;
      else if (parsed_[i].ok)
        add_document(parsed_[i].text);
      else
        refuse(fmt::format("{}:{}: {}", path, number, parsed_[i].reason));
    }
    lines_.clear();
  }

  void refuse(std::string message) {
    if (options_.on_error == BadLines::kStop)
      throw DataError(message + "; correct the line, or skip bad lines with --on-error skip");
    ++report_.skipped;
    if (report_.skipped_lines.size() < kListed) report_.skipped_lines.push_back(std::move(message));
  }

  void add_document(const std::string& text) {
    if (text.empty()) {
      ++report_.empty_documents;
      return;
    }
    writer_.append(ByteTokenizer::encode(text));
    end_document();
  }

  void end_document() {
    constexpr int32_t kEnd[] = {ByteTokenizer::kEndOfDocument};
    if (options_.append_eod) writer_.append(kEnd);
    writer_.end_sequence();
    writer_.end_document();
    ++report_.documents;
  }

  const BuildOptions& options_;
  IndexedWriter writer_;
  BuildReport report_;
  std::vector<std::string> lines_;
  std::vector<JsonText> parsed_;
};

}  // namespace

BuildReport build_dataset(const BuildOptions& options) {
  if (options.inputs.empty()) throw UserError("data build: no input file is named; give at least one");
  if (options.output_prefix.empty())
    throw UserError("data build: no output prefix is given, such as runs/data/books");
  if (options.workers < 1)
    throw UserError(fmt::format("data build: workers = {}; use 1 or more", options.workers));
  Builder builder(options);
  for (const std::string& input : options.inputs)
    options.format == CorpusFormat::kText ? builder.add_text(input) : builder.add_json_lines(input);
  return builder.finish();
}

}  // namespace octant
