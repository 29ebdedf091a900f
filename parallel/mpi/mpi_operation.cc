#include <fmt/format.h>

#include <chrono>

#include "core/error.h"
#include "parallel/mpi/operations.h"

namespace octant::mpi {
namespace {

// What a rank sent before it ended may still be on its way.
constexpr std::chrono::seconds kLateMessages(2);

}  // namespace

void MpiOperation::begin() {
  // What the device still computes into the buffers must be there before mpi reads them.
  mover_ = &engine().mover();
  mover_->ops.synchronize(mover_->stream);
  prepare();
  if (!verify_ || size() == 1) {
    verify_ = false;
    post();
    return;
  }
  fingerprints_.resize(static_cast<size_t>(size()));
  fingerprints_[static_cast<size_t>(rank())] = call_;
  for (int step = 1; step < size(); ++step) {
    receive_from(peer(step), &fingerprints_[static_cast<size_t>(peer(step))], sizeof(Fingerprint),
                 Phase::kVerify);
    send_to(peer(step), &fingerprints_[static_cast<size_t>(rank())], sizeof(Fingerprint), Phase::kVerify);
  }
}

void MpiOperation::compare_fingerprints() {
  for (int q = 1; q < size(); ++q)
    if (!matches(fingerprints_[0], fingerprints_[static_cast<size_t>(q)], true))
      throw BugError(mismatch_text(site_->group, world_rank(0), fingerprints_[0], world_rank(q),
                                   fingerprints_[static_cast<size_t>(q)]));
}

bool MpiOperation::progress(const Mover& mover) {
  mover_ = &mover;
  bool moved = false;
  while (true) {
    try {
      moved = transfers_.test() || moved;
    } catch (const BugError& error) {
      throw BugError(
          fmt::format("{} #{} of group {}: {}", call_.str(), call_.sequence, site_->group, error.what()));
    }
    if (!verify_ && advance_early()) {
      moved = true;
      continue;
    }
    if (!transfers_.idle()) return moved;
    moved = true;
    if (verify_) {
      verify_ = false;
      compare_fingerprints();
      post();
      continue;
    }
    if (!advance()) break;
  }
  mover.ops.synchronize(mover.stream);
  finish();
  return true;
}

void MpiOperation::check_peers() {
  for (const int rank : transfers_.awaited()) {
    if (!site_->notices.ended(rank)) continue;
    const Engine::Clock::time_point now = Engine::Clock::now();
    if (!peer_ended_) peer_ended_ = now;
    if (now - *peer_ended_ > kLateMessages)
      throw PeerFailed(fmt::format("rank {} ended its work without joining {} #{} of group {}", rank,
                                   call_.str(), call_.sequence, site_->group));
  }
}

std::string MpiOperation::waiting_for() const {
  std::string ranks;
  for (const int rank : transfers_.awaited()) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  return fmt::format("{} #{} of group {}; not done with rank {}", call_.str(), call_.sequence, site_->group,
                     ranks);
}

void MpiOperation::send_to(int peer, const void* data, int64_t bytes, Phase phase) {
  transfers_.send(site_->channels.collectives, data, bytes, world_rank(peer), tag(phase));
}

void MpiOperation::receive_from(int peer, void* data, int64_t bytes, Phase phase) {
  transfers_.receive(site_->channels.collectives, data, bytes, world_rank(peer), tag(phase));
}

void MpiOperation::send_offers(int peer, Phase phase) {
  const std::vector<Offer>& parts = given_[static_cast<size_t>(peer)];
  send_to(peer, parts.data(), static_cast<int64_t>(parts.size() * sizeof(Offer)), phase);
}

void MpiOperation::receive_offers(int peer, int parts, Phase phase) {
  std::vector<Offer>& offers = taken_[static_cast<size_t>(peer)];
  offers.resize(static_cast<size_t>(parts));
  receive_from(peer, offers.data(), static_cast<int64_t>(offers.size() * sizeof(Offer)), phase);
}

void MpiOperation::check_offer(int peer, size_t part, int64_t bytes) const {
  const int64_t offered = taken_[static_cast<size_t>(peer)][part].bytes;
  if (offered != bytes)
    throw BugError(fmt::format("{} #{} of group {}: rank {} offered {} bytes where {} were expected",
                               call_.str(), call_.sequence, site_->group, world_rank(peer), offered, bytes));
}

void MpiOperation::copy(void* to, const void* from, int64_t bytes) {
  if (to != from && bytes > 0) mover_->ops.copy(mover_->stream, to, from, bytes);
}

}  // namespace octant::mpi
