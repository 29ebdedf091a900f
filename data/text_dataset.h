// A text file under the byte tokenizer: one document, its bytes as they are, then end-of-document.
//
//   TextDataset text("corpus.txt");            // DataError when it is missing or empty
//   text.total_tokens();                       // size of the file + 1
//
// Nothing is held in memory; tokens are read from the file when asked for.
#pragma once

#include "data/input_file.h"
#include "data/token_source.h"

namespace octant {

class TextDataset : public TokenSource {
 public:
  explicit TextDataset(const std::string& path);

  const std::string& path() const override { return file_.path(); }
  int64_t total_tokens() const override { return file_.size() + 1; }
  void tokens(int64_t begin, std::span<int32_t> out) const override;
  int64_t id_at(int64_t token) const override;
  TokenPlace place_of(int64_t token) const override { return {path(), 0, token}; }

 private:
  InputFile file_;
};

}  // namespace octant
