#include "parallel/threads/group.h"

#include <mutex>
#include <utility>

#include "core/error.h"

namespace octant::threads {

Slot::Slot(std::string group, std::vector<int> world_ranks)
    : group_(std::move(group)), world_ranks_(std::move(world_ranks)), contributions_(world_ranks_.size()) {}

bool Slot::publish(int place, Contribution contribution, bool strict) {
  const std::lock_guard lock(mutex_);
  contribution.present = true;
  if (first_ < 0) {
    first_ = place;
  } else if (mismatch_.empty()) {
    const Contribution& first = contributions_[static_cast<size_t>(first_)];
    if (!matches(first.call, contribution.call, strict))
      mismatch_ = mismatch_text(group_, world_ranks_[static_cast<size_t>(first_)], first.call,
                                world_ranks_[static_cast<size_t>(place)], contribution.call);
  }
  contributions_[static_cast<size_t>(place)] = std::move(contribution);
  return ++published_ == size() || !mismatch_.empty();
}

Slot::Step Slot::begin(int passed, int phases, int source) {
  const std::lock_guard lock(mutex_);
  if (!mismatch_.empty()) throw BugError(mismatch_);
  if (withdrawn_) return Step::kWait;
  if (passed == 0) {
    const bool ready =
        source < 0 ? published_ == size() : contributions_[static_cast<size_t>(source)].present;
    if (!ready) return Step::kWait;
  } else if (passed_[passed - 1] < size()) {
    return Step::kWait;
  }
  if (passed == phases) return Step::kDone;
  ++readers_;
  return Step::kRead;
}

bool Slot::end_read(int phase) {
  const std::lock_guard lock(mutex_);
  --readers_;
  return ++passed_[phase] == size();
}

void Slot::leave() {
  const std::lock_guard lock(mutex_);
  --readers_;
}

void Slot::withdraw() noexcept {
  // Readers are on their way out; this happens once, when a world has failed.
  Pause pause(true);
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      withdrawn_ = true;
      if (readers_ == 0) return;
    }
    pause();
  }
}

std::vector<int> Slot::missing() {
  const std::lock_guard lock(mutex_);
  std::vector<int> ranks;
  for (int place = 0; place < size(); ++place)
    if (!contributions_[static_cast<size_t>(place)].present)
      ranks.push_back(world_ranks_[static_cast<size_t>(place)]);
  return ranks;
}

Group::Group(Fabric& fabric, std::string name, std::vector<int> members)
    : fabric_(fabric), name_(std::move(name)), members_(std::move(members)) {}

std::shared_ptr<Slot> Group::join(const Key& key, const std::vector<int>& world_ranks) {
  const std::lock_guard lock(mutex_);
  Meeting& meeting = meetings_[key];
  if (!meeting.slot) meeting.slot = std::make_shared<Slot>(name_, world_ranks);
  std::shared_ptr<Slot> slot = meeting.slot;
  if (++meeting.joined == slot->size()) meetings_.erase(key);
  return slot;
}

std::shared_ptr<Slot> Group::collective(int64_t sequence) {
  return join({-1, -1, -1, sequence}, members_);
}

std::shared_ptr<Slot> Group::message(int from, int to, int tag, int64_t sequence) {
  return join({from, to, tag, sequence},
              {members_[static_cast<size_t>(from)], members_[static_cast<size_t>(to)]});
}

}  // namespace octant::threads
