// What a data set holds, and whether every id of it belongs to a vocabulary: `octant data info`.
//
//   IndexedDataset books("runs/data/books");
//   DatasetInfo info = describe(books);                     // from the index alone
//   ScanReport scan = scan_ids(books, /*vocab_size=*/257);  // reads every token, and blocks while it does
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/indexed_dataset.h"
#include "data/token_source.h"

namespace octant {

struct DatasetInfo {
  TokenType type = TokenType::kU16;
  int64_t sequences = 0;
  int64_t empty_sequences = 0;
  int64_t documents = 0;
  int64_t empty_documents = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;  // of the tokens
  int64_t shortest_sequence = 0;
  int64_t longest_sequence = 0;
  uint64_t fingerprint = 0;
};

DatasetInfo describe(const IndexedDataset& dataset);

struct ScanReport {
  struct Place {
    TokenPlace place;
    int64_t id = 0;
  };
  int64_t tokens = 0;
  int64_t smallest_id = 0;  // among ids that fit into 32 bits and are not negative; -1 when there is none
  int64_t largest_id = 0;
  int64_t outside = 0;        // ids outside [0, vocab_size)
  std::vector<Place> places;  // the first `max_places` of them
};

ScanReport scan_ids(const TokenSource& source, int64_t vocab_size, int64_t max_places = 100);

}  // namespace octant
