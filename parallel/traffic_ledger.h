// Counts what one rank sends: by group, operation and purpose.
//
// Bytes and elements are what this rank must send to others under a direct exchange: reduce-scatter and
// all-gather of n elements over N ranks (N-1)/N·n each, all-reduce both, broadcast by its root (N-1)·n, send
// n. Scalars that ranks agree on (losses, norms, flags) are a row of their own ("control"), so that the
// volumes of the ZeRO paper (section 7) can be asserted on the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace octant {

enum class Collective : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kSend,
  kReceive,
  kBarrier
};
std::string_view name_of(Collective operation);

struct TrafficRow {
  int64_t calls = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
};

class TrafficLedger {
 public:
  // Key: group ("data", "tensor", "pipeline", "ends", "world"), operation, purpose (see CallOptions).
  using Key = std::tuple<std::string, Collective, std::string>;
  void record(std::string_view group, Collective operation, const char* purpose, int64_t elements,
              int64_t bytes);
  // Ordered by key; looked up by views, so that recording a known row allocates nothing.
  using Rows = std::map<Key, TrafficRow, std::less<>>;
  const Rows& rows() const { return rows_; }
  // Sum over the rows of `group` (all where empty) with `purpose` (all where empty).
  TrafficRow total(std::string_view group, std::string_view purpose) const;
  void clear() { rows_.clear(); }

 private:
  Rows rows_;
};

}  // namespace octant
