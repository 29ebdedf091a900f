// The operations of the mpi transport: exchanges of pieces between every two ranks, summed here in rank order.
//
// A piece travels in one of two ways, chosen alike by both ranks from its size and where they are. As a
// message; or it is offered: the owner sends where it lies, the other reads it there once all offers of the
// operation are in (direct_reads.h) and answers, and until then the owner's operation is under way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "parallel/communicator.h"
#include "parallel/engine.h"
#include "parallel/fingerprint.h"
#include "parallel/mpi/direct_reads.h"
#include "parallel/mpi/notices.h"
#include "parallel/mpi/session.h"
#include "parallel/mpi/transfers.h"
#include "parallel/operation.h"

namespace octant::mpi {

// What every operation of a group is made from.
struct Site {
  Engine& engine;
  Device& device;
  const Channels& channels;
  DirectReads& direct;
  const Notices& notices;
  std::string group;
  std::vector<int> members;
  int rank = 0;
  int64_t number = 0;  // of the group, for tags
  bool verify = false;
};
using SitePtr = std::shared_ptr<const Site>;

// A part of a piece that lies in its owner's memory.
struct Offer {
  uint64_t address = 0;
  int64_t bytes = 0;
};

class MpiOperation : public Operation {
 public:
  // With verification the ranks exchange fingerprints first; the data waits for them.
  void begin();

  bool progress(const Mover& mover) override;
  void withdraw() noexcept override { transfers_.cancel(); }
  void check_peers() override;
  bool still_verifying() const override { return verify_; }
  std::string waiting_for() const override;

 protected:
  MpiOperation(const SitePtr& site, const Fingerprint& call, bool verify = true)
      : Operation(site->engine),
        transfers_(site->channels.library),
        given_(site->members.size()),
        taken_(site->members.size()),
        site_(site),
        call_(call),
        verify_(verify && site->verify) {}

  // Takes the device memory that it needs.
  virtual void prepare() {}
  // Posts the first messages.
  virtual void post() = 0;
  // Does what can be done while messages are still on their way; true when it did anything.
  virtual bool advance_early() { return false; }
  // All posted messages have arrived and left; posts more and returns true, or false when it is done.
  virtual bool advance() { return false; }

  int size() const { return static_cast<int>(site_->members.size()); }
  int rank() const { return site_->rank; }
  Device& device() const { return site_->device; }
  const Mover& mover() const { return *mover_; }
  void send_to(int peer, const void* data, int64_t bytes, Phase phase = Phase::kExchange);
  void receive_from(int peer, void* data, int64_t bytes, Phase phase = Phase::kExchange);
  // Whether a piece of so many bytes is read in place; group ranks.
  bool is_read(int peer, int64_t bytes) const {
    return bytes >= DirectReads::kSmallest && site_->direct.possible(world_rank(peer));
  }
  // The parts are sent once all have been added, and read in the order in which they were.
  void add_offer(int peer, const void* data, int64_t bytes) {
    given_[static_cast<size_t>(peer)].push_back({reinterpret_cast<uint64_t>(data), bytes});
  }
  void clear_offers(int peer) { given_[static_cast<size_t>(peer)].clear(); }
  void send_offers(int peer, Phase phase);
  void receive_offers(int peer, int parts, Phase phase);
  // Throws BugError when the part that was offered has another size.
  void check_offer(int peer, size_t part, int64_t bytes) const;
  void read_offer(int peer, size_t part, int64_t offset, void* to, int64_t bytes) const {
    site_->direct.read(world_rank(peer), to,
                       taken_[static_cast<size_t>(peer)][part].address + static_cast<uint64_t>(offset),
                       bytes);
  }
  void read_offer(int peer, size_t part, void* to, int64_t bytes) const {
    check_offer(peer, part, bytes);
    read_offer(peer, part, 0, to, bytes);
  }
  void send_answer(int peer, Phase phase) {
    transfers_.send_empty(site_->channels.collectives, world_rank(peer), tag(phase));
  }
  void receive_answer(int peer, Phase phase) {
    transfers_.receive_empty(site_->channels.collectives, world_rank(peer), tag(phase));
  }
  int tag(Phase phase) const { return collective_tag(site_->number, phase, call_.sequence); }
  void copy(void* to, const void* from, int64_t bytes);
  // The peers of this rank, nearest above first, so that not all send to one at a time.
  int peer(int step) const { return (rank() + step) % size(); }
  int world_rank(int place) const { return site_->members[static_cast<size_t>(place)]; }

  const Site& site() const { return *site_; }
  const Fingerprint& call() const { return call_; }
  Transfers transfers_;
  std::vector<std::vector<Offer>> given_, taken_;  // by group rank

 private:
  void compare_fingerprints();

  SitePtr site_;
  const Mover* mover_ = nullptr;  // of the thread that drives it
  Fingerprint call_;
  bool verify_;
  std::vector<Fingerprint> fingerprints_;
  std::optional<Engine::Clock::time_point> peer_ended_;
};

using Results = std::shared_ptr<std::vector<std::string>>;

std::shared_ptr<Operation> make_all_reduce(const SitePtr& site, std::vector<Tensor> tensors,
                                           const Fingerprint& call);
std::shared_ptr<Operation> make_reduce_scatter(const SitePtr& site, std::vector<ReduceScatterPiece> pieces,
                                               const Fingerprint& call);
std::shared_ptr<Operation> make_all_gather(const SitePtr& site, std::vector<AllGatherPiece> pieces,
                                           const Fingerprint& call);
std::shared_ptr<Operation> make_broadcast(const SitePtr& site, const Tensor& tensor, const Fingerprint& call);
std::shared_ptr<Operation> make_all_to_all(const SitePtr& site, const Tensor& input, const Tensor& output,
                                           const Fingerprint& call);
std::shared_ptr<Operation> make_send(const SitePtr& site, const Tensor& tensor, int to, int tag,
                                     const Fingerprint& call);
std::shared_ptr<Operation> make_receive(const SitePtr& site, const Tensor& tensor, int from, int tag,
                                        const Fingerprint& call);
std::shared_ptr<Operation> make_barrier(const SitePtr& site, const Fingerprint& call);
std::shared_ptr<Operation> make_exchange(const SitePtr& site, std::string bytes, bool equal_lengths,
                                         Results results, const Fingerprint& call);

}  // namespace octant::mpi
