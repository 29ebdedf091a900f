// Writes a Megatron `.bin/.idx` pair (layout: data/index_format.h).
//
//   IndexedWriter writer("runs/data/books", token_type_for(vocab_size));
//   writer.add_sequence(ids);
//   writer.end_document();
//   writer.commit();             // both files are on the disk under their names
//
// Nothing appears under the final names before commit(), and no moment leaves an index beside a `.bin` it
// does not describe. Without commit(), or after a DataError (a full disk, say), the temporary files are
// removed. Used by one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/index_format.h"
#include "data/output_file.h"

namespace octant {

class IndexedWriter {
 public:
  IndexedWriter(const std::string& prefix, TokenType type);

  // Extends the sequence under way, so that no document has to fit into memory. Throws DataError on an id
  // that the type cannot hold, or when the sequence grows beyond 2^31-1 ids.
  void append(std::span<const int32_t> ids);
  void end_sequence();
  void add_sequence(std::span<const int32_t> ids) {
    append(ids);
    end_sequence();
  }
  // The sequences since the last call are one document; none make an empty document.
  void end_document();
  void commit();

  int64_t sequences() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t documents() const { return static_cast<int64_t>(document_indices_.size()) - 1; }
  int64_t total_tokens() const { return total_tokens_; }

 private:
  void write_index();

  std::string prefix_;
  TokenType type_;
  OutputFile bin_;
  OutputFile index_;
  std::vector<int32_t> lengths_;
  std::vector<int64_t> document_indices_{0};
  std::vector<std::byte> stored_;  // what is appended, in the file's type
  int64_t length_ = 0;             // of the sequence under way
  int64_t total_tokens_ = 0;
};

}  // namespace octant
