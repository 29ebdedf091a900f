// Builds a `.bin/.idx` pair from text or JSONL with the byte tokenizer, and turns one back into text.
//
//   BuildReport report = build_dataset({.inputs = {"a.txt"}, .output_prefix = "runs/data/a"});
//
// A text file is one document; a line of JSONL is one, the string under `key`. Each document is one sequence,
// with end-of-document appended. Empty documents and blank lines of JSONL are dropped and counted; white
// space inside a document is text like any other. The output does not depend on the number of workers.
// Blocks; throws DataError, and then leaves nothing under the output's names.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "data/indexed_dataset.h"

namespace octant {

enum class CorpusFormat : uint8_t { kText, kJsonLines };
enum class BadLines : uint8_t { kStop, kSkip };

struct BuildOptions {
  std::vector<std::string> inputs;
  std::string output_prefix;
  CorpusFormat format = CorpusFormat::kText;
  std::string key = "text";
  bool append_eod = true;
  BadLines on_error = BadLines::kStop;
  int workers = 1;
};

// For JSONL: lines == documents + empty_documents + blank_lines + skipped. For text, every file counts as one
// line.
struct BuildReport {
  int64_t lines = 0;
  int64_t documents = 0;
  int64_t empty_documents = 0;
  int64_t blank_lines = 0;
  int64_t skipped = 0;
  int64_t tokens = 0;
  std::vector<std::string> skipped_lines;  // "file:line: reason" of the first 1000
};

// Under BadLines::kStop the first bad line in file order is a DataError "file:line: reason".
BuildReport build_dataset(const BuildOptions& options);

// One document of a set that the byte tokenizer wrote, byte for byte.
std::string decode_document(const IndexedDataset& dataset, int64_t document);
// Every document, as JSONL under `key` or simply one after another. Returns how many. JSONL needs documents
// in valid UTF-8.
int64_t decode_dataset(const IndexedDataset& dataset, CorpusFormat format, const std::string& key,
                       std::ostream& out);

}  // namespace octant
