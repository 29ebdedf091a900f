#include "data/info.h"

#include <algorithm>
#include <limits>

namespace octant {

DatasetInfo describe(const IndexedDataset& dataset) {
  const IndexView& index = dataset.index();
  DatasetInfo info;
  info.type = index.type();
  info.sequences = index.sequences();
  info.documents = index.documents();
  info.tokens = index.total_tokens();
  info.bytes = info.tokens * size_of(info.type);
  info.shortest_sequence = info.sequences > 0 ? std::numeric_limits<int64_t>::max() : 0;
  for (int64_t i = 0; i < info.sequences; ++i) {
    const int64_t length = index.length(i);
    info.empty_sequences += length == 0;
    info.shortest_sequence = std::min(info.shortest_sequence, length);
    info.longest_sequence = std::max(info.longest_sequence, length);
  }
  for (int64_t j = 0; j < info.documents; ++j)
    info.empty_documents +=
        index.first_token(index.first_sequence(j)) == index.first_token(index.first_sequence(j + 1));
  info.fingerprint = dataset.fingerprint();
  return info;
}

ScanReport scan_ids(const TokenSource& source, int64_t vocab_size, int64_t max_places) {
  constexpr int64_t kBlock = 65536;
  ScanReport report;
  report.tokens = source.total_tokens();
  report.smallest_id = report.largest_id = -1;
  std::vector<int32_t> ids(static_cast<size_t>(std::min(kBlock, report.tokens)));
  for (int64_t begin = 0; begin < report.tokens; begin += kBlock) {
    ids.resize(static_cast<size_t>(std::min(kBlock, report.tokens - begin)));
    source.tokens(begin, ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t id = ids[i];
      if (id >= 0) {
        report.smallest_id = report.smallest_id < 0 ? id : std::min(report.smallest_id, id);
        report.largest_id = std::max(report.largest_id, id);
      }
      if (id >= 0 && id < vocab_size) continue;
      ++report.outside;
      if (static_cast<int64_t>(report.places.size()) >= max_places) continue;
      const int64_t token = begin + static_cast<int64_t>(i);
      report.places.push_back({source.place_of(token), source.id_at(token)});
    }
  }
  return report;
}

}  // namespace octant
