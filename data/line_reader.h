// The lines of a file one after another, of any length, without their newline.
//
//   LineReader lines("corpus.jsonl");
//   std::string line;
//   while (lines.next(line)) …                     // lines.number() counts from 1
//
// A last line without a newline is a line. A byte-order mark at the start of the file is left out. A carriage
// return stays: it is white space to JSON. Used by one thread; throws DataError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/input_file.h"

namespace octant {

class LineReader {
 public:
  explicit LineReader(const std::string& path);

  bool next(std::string& line);
  int64_t number() const { return number_; }

 private:
  bool refill();

  InputFile file_;
  std::vector<char> block_;
  size_t position_ = 0;
  int64_t offset_ = 0;  // of the next block
  int64_t number_ = 0;
};

}  // namespace octant
