#include "parallel/threads/fabric.h"

#include <fmt/format.h>

#include "parallel/threads/group.h"

namespace octant::threads {

Fabric::Fabric(int size, const WorldOptions& options) : options_(options) {
  for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>());
}

Fabric::~Fabric() = default;

void Fabric::signal(int rank) {
  Rank& sleeper = *ranks_[static_cast<size_t>(rank)];
  {
    const std::lock_guard lock(sleeper.mutex);
    ++sleeper.signals;
  }
  sleeper.changed.notify_one();
}

uint64_t Fabric::ticket(int rank) {
  Rank& mine = *ranks_[static_cast<size_t>(rank)];
  const std::lock_guard lock(mine.mutex);
  return mine.signals;
}

void Fabric::block(int rank, uint64_t ticket, std::chrono::steady_clock::time_point deadline) {
  Rank& mine = *ranks_[static_cast<size_t>(rank)];
  std::unique_lock lock(mine.mutex);
  const auto changed = [&] { return mine.signals != ticket; };
  if (deadline == std::chrono::steady_clock::time_point::max())
    mine.changed.wait(lock, changed);
  else
    mine.changed.wait_until(lock, deadline, changed);
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
