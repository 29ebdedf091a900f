// The operations of the thread transport. Each is a SlotOperation (group.h): publish, read in one or two
// phases, done.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "parallel/operation.h"
#include "parallel/threads/fabric.h"
#include "parallel/threads/group.h"

namespace octant::threads {

using Results = std::shared_ptr<std::vector<std::string>>;

// What every operation is made from.
struct Place {
  Engine& engine;
  Fabric& fabric;
  std::string group;
  std::shared_ptr<Slot> slot;
  int rank = 0;  // this rank's place in the slot
};

class SlotOperation : public Operation {
 public:
  bool progress(const Mover& mover) override;
  void withdraw() noexcept override { slot_->withdraw(); }
  void check_peers() override;
  std::string waiting_for() const override;

 protected:
  // How its phases go: how many; the one place that the first reads from (-1: all); whether peers read this
  // rank's buffers; and whether publishing alone may let a peer begin.
  struct Course {
    int phases = 1;
    int source = -1;
    bool is_read = true;
    bool starts_others = false;
  };
  SlotOperation(const Place& place, Course course);

  // Called once, when `buffers_` is complete.
  void publish(const Fingerprint& call, std::string bytes = {});
  virtual void read(int phase, const Mover& mover) = 0;

  const Contribution& at(int place) const { return slot_->at(place); }
  int size() const { return slot_->size(); }
  int rank() const { return rank_; }
  static void copy(const Mover& mover, void* to, const void* from, int64_t bytes) {
    if (to != from && bytes > 0) mover.ops.copy(mover.stream, to, from, bytes);
  }

  std::vector<const void*> buffers_;

 private:
  void signal_others();

  Fabric& fabric_;
  std::string group_;
  std::shared_ptr<Slot> slot_;
  int rank_;
  Course course_;
  int passed_ = 0;
  Fingerprint call_;
};

std::shared_ptr<Operation> make_all_reduce(const Place& place, std::vector<Tensor> tensors,
                                           const Fingerprint& call);
std::shared_ptr<Operation> make_reduce_scatter(const Place& place, std::vector<ReduceScatterPiece> pieces,
                                               const Fingerprint& call);
std::shared_ptr<Operation> make_all_gather(const Place& place, std::vector<AllGatherPiece> pieces,
                                           const Fingerprint& call);
std::shared_ptr<Operation> make_broadcast(const Place& place, const Tensor& tensor, const Fingerprint& call);
std::shared_ptr<Operation> make_all_to_all(const Place& place, const Tensor& input, const Tensor& output,
                                           const Fingerprint& call);
// A message: place 0 of its slot sends, place 1 receives.
std::shared_ptr<Operation> make_message(const Place& place, const Tensor& tensor, const Fingerprint& call);
std::shared_ptr<Operation> make_barrier(const Place& place, const Fingerprint& call);
std::shared_ptr<Operation> make_exchange(const Place& place, std::string bytes, Results results,
                                         const Fingerprint& call);

}  // namespace octant::threads
