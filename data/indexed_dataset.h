// A Megatron `.bin/.idx` pair as a token source, with an optional mask pair.
//
//   IndexedDataset books("runs/data/books");                       // reads books.bin and books.idx
//   IndexedDataset chat("runs/data/chat", "runs/data/chat_mask");  // the mask: u8, the same sequence lengths
//
// Opening checks every field of the index and the size of the `.bin` against it, and throws DataError with
// the path and both numbers; a `.bin` with bytes to spare gives a notice. Sequences of length 0 never change
// what is read. The layout of the index: data/index_format.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/index_format.h"
#include "data/input_file.h"
#include "data/token_source.h"

namespace octant {

class IndexedDataset : public TokenSource {
 public:
  explicit IndexedDataset(const std::string& prefix, const std::string& mask_prefix = "");

  const std::string& path() const override { return bin_.path(); }
  int64_t total_tokens() const override { return index_.total_tokens(); }
  void tokens(int64_t begin, std::span<int32_t> out) const override;
  int64_t id_at(int64_t token) const override;
  bool has_mask() const override { return mask_ != nullptr; }
  void mask(int64_t begin, std::span<uint8_t> out) const override;
  TokenPlace place_of(int64_t token) const override;
  std::vector<std::string> notices() const override { return notices_; }

  const IndexView& index() const { return index_; }
  std::string index_path() const { return prefix_ + ".idx"; }

 private:
  void check_mask() const;

  std::string prefix_;
  MappedFile index_bytes_;
  IndexView index_;
  InputFile bin_;
  std::unique_ptr<IndexedDataset> mask_;
  std::vector<std::string> notices_;
};

}  // namespace octant
