#include "parallel/threads/fabric.h"

#include <fmt/format.h>

#include "parallel/spin.h"
#include "parallel/threads/group.h"

namespace octant::threads {

namespace {

using Clock = std::chrono::steady_clock;

// A wake-up through the kernel costs some 20 to 50 us: watching about as long as that loses at most half. A
// crowded machine has other ranks to run.
constexpr std::chrono::microseconds kWatching(100);
constexpr std::chrono::microseconds kWatchingWhenCrowded(20);

}  // namespace

Fabric::Fabric(int size, const WorldOptions& options) : options_(options), crowded_(size > cores_allowed()) {
  for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>());
}

Fabric::~Fabric() = default;

void Fabric::signal(int rank) {
  Rank& owner = *ranks_[static_cast<size_t>(rank)];
  owner.mailbox.signal();
  if (owner.has_progress_thread.load(std::memory_order_relaxed)) owner.progress_mailbox.signal();
}

void Fabric::block(int rank, uint64_t ticket, Clock::time_point deadline) {
  Mailbox& mine = ranks_[static_cast<size_t>(rank)]->mailbox;
  constexpr int kLooksBetweenClocks = 16;
  const Clock::time_point until = Clock::now() + (crowded_ ? kWatchingWhenCrowded : kWatching);
  Pause pause(crowded_);
  do {
    for (int look = 0; look < kLooksBetweenClocks; ++look) {
      if (mine.changed(ticket)) return;
      pause();
    }
  } while (Clock::now() < until);
  mine.wait(ticket, deadline);
}

void Fabric::fail(int rank, ExitCode code, const std::string& text, bool at_fault) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed) && (failure_at_fault_ || !at_fault)) return;
    failure_ = {.exit_code = static_cast<int>(code), .failed_rank = rank, .message = text};
    failure_at_fault_ = at_fault;
    failed_.store(true, std::memory_order_release);
  }
  for (int other = 0; other < size(); ++other) signal(other);
}

WorldResult Fabric::result() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Fabric::end(int rank) {
  ranks_[static_cast<size_t>(rank)]->ended.store(true, std::memory_order_release);
  for (int other = 0; other < size(); ++other) signal(other);
}

bool Fabric::ended(int rank) const {
  return ranks_[static_cast<size_t>(rank)]->ended.load(std::memory_order_acquire);
}

std::string Fabric::flights() const {
  std::string text;
  for (int rank = 0; rank < size(); ++rank)
    text += fmt::format("  rank {}:\n{}", rank, ranks_[static_cast<size_t>(rank)]->recorder.str("    "));
  return text;
}

std::shared_ptr<Group> Fabric::join_group(const GroupKey& key, const std::string& name,
                                          const std::vector<int>& members) {
  const std::lock_guard lock(mutex_);
  Joining& joining = joining_[key];
  if (!joining.group) joining.group = std::make_shared<Group>(*this, name, members);
  std::shared_ptr<Group> group = joining.group;
  if (++joining.joined == members.size()) joining_.erase(key);
  return group;
}

}  // namespace octant::threads
