#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "parallel/engine.h"
#include "parallel/threads/operations.h"

namespace octant::threads {

SlotOperation::SlotOperation(const Place& place, Course course)
    : Operation(place.engine),
      fabric_(place.fabric),
      group_(place.group),
      slot_(place.slot),
      rank_(place.rank),
      course_(course) {}

void SlotOperation::signal_others() {
  for (int other = 0; other < slot_->size(); ++other)
    if (other != rank_) fabric_.signal(slot_->world_ranks()[static_cast<size_t>(other)]);
}

void SlotOperation::publish(const Fingerprint& call, std::string bytes) {
  call_ = call;
  // What this rank's device still computes into its buffers must be there before a peer reads them.
  engine().mover().ops.synchronize(engine().mover().stream);
  Contribution contribution{
      .present = true, .call = call, .buffers = buffers_.data(), .bytes = std::move(bytes)};
  const bool complete = slot_->publish(rank_, std::move(contribution), fabric_.options().verify_collectives);
  if (complete || course_.starts_others) signal_others();
}

bool SlotOperation::progress(const Mover& mover) {
  bool moved = false;
  while (true) {
    const Slot::Step step = slot_->begin(passed_, course_.phases, course_.source);
    if (step == Slot::Step::kWait) return moved;
    if (step == Slot::Step::kDone) break;
    try {
      read(passed_, mover);
      mover.ops.synchronize(mover.stream);
    } catch (...) {
      slot_->leave();
      throw;
    }
    const bool last = slot_->end_read(passed_++);
    moved = true;
    if (last) signal_others();
    if (passed_ == course_.phases && !course_.is_read) break;
  }
  finish();
  return true;
}

void SlotOperation::check_peers() {
  for (const int rank : slot_->missing()) {
    if (!fabric_.ended(rank)) continue;
    // It may have joined and ended since the list was made.
    const std::vector<int> missing = slot_->missing();
    if (std::find(missing.begin(), missing.end(), rank) != missing.end())
      throw PeerFailed(fmt::format("rank {} ended its work without joining {} #{} of group {}", rank,
                                   call_.str(), call_.sequence, group_));
  }
}

std::string SlotOperation::waiting_for() const {
  std::string ranks;
  for (const int rank : slot_->missing()) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  return fmt::format(
      "{} #{} of group {}; {}", call_.str(), call_.sequence, group_,
      ranks.empty() ? "every rank has joined and is not done with it" : "not joined by rank " + ranks);
}

}  // namespace octant::threads
