#include "parallel/traffic_ledger.h"

namespace octant {

std::string_view name_of(Collective operation) {
  switch (operation) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kAllToAll:
      return "all_to_all";
    case Collective::kSend:
      return "send";
    case Collective::kReceive:
      return "receive";
    case Collective::kBarrier:
      return "barrier";
  }
  return "?";
}

void TrafficLedger::record(std::string_view group, Collective operation, const char* purpose,
                           int64_t elements, int64_t bytes) {
  const std::tuple<std::string_view, Collective, std::string_view> view(group, operation, purpose);
  auto row = rows_.find(view);
  if (row == rows_.end())
    row = rows_.emplace(Key(std::string(group), operation, std::string(purpose)), TrafficRow()).first;
  row->second.calls += 1;
  row->second.elements += elements;
  row->second.bytes += bytes;
}

TrafficRow TrafficLedger::total(std::string_view group, std::string_view purpose) const {
  TrafficRow sum;
  for (const auto& [key, row] : rows_) {
    if (!group.empty() && std::get<0>(key) != group) continue;
    if (!purpose.empty() && std::get<2>(key) != purpose) continue;
    sum.calls += row.calls;
    sum.elements += row.elements;
    sum.bytes += row.bytes;
  }
  return sum;
}

}  // namespace octant
