// What every transport's communicator shares: argument checks, fingerprints, the traffic ledger, the flight
// recorder and host scalars. A transport implements the `make_` calls: build the operation and post its first
// messages, without blocking.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "parallel/communicator.h"
#include "parallel/engine.h"
#include "parallel/fingerprint.h"

namespace octant {

class GroupCommunicator : public Communicator {
 public:
  GroupCommunicator(std::string name, int rank, std::vector<int> members, Engine& engine, Device& device,
                    TrafficLedger& traffic);

  const std::string& name() const override { return name_; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  int world_rank(int group_rank) const override;

  using Communicator::all_reduce;
  Work all_reduce(std::span<const Tensor> tensors, ReduceOp op, CallOptions options) override;
  Work reduce_scatter(std::span<const ReduceScatterPiece> pieces, CallOptions options) override;
  Work all_gather(std::span<const AllGatherPiece> pieces, CallOptions options) override;
  Work broadcast(const Tensor& tensor, int root, CallOptions options) override;
  Work all_to_all(const Tensor& input, const Tensor& output, CallOptions options) override;
  Work send(const Tensor& tensor, int to, int tag, CallOptions options) override;
  Work receive(const Tensor& tensor, int from, int tag, CallOptions options) override;
  Work barrier() override;

  void all_reduce(std::span<double> values, ReduceOp op) override;
  void all_reduce(std::span<int64_t> values, ReduceOp op) override;
  std::vector<double> all_gather(std::span<const double> values) override;
  std::vector<std::string> all_gather(const std::string& bytes) override;

  void poll() override { engine_.poll(); }

 protected:
  using Made = std::shared_ptr<Operation>;
  using Results = std::shared_ptr<std::vector<std::string>>;
  virtual Made make_all_reduce(std::vector<Tensor> tensors, const Fingerprint& call) = 0;
  virtual Made make_reduce_scatter(std::vector<ReduceScatterPiece> pieces, const Fingerprint& call) = 0;
  virtual Made make_all_gather(std::vector<AllGatherPiece> pieces, const Fingerprint& call) = 0;
  virtual Made make_broadcast(const Tensor& tensor, const Fingerprint& call) = 0;
  virtual Made make_all_to_all(const Tensor& input, const Tensor& output, const Fingerprint& call) = 0;
  virtual Made make_send(const Tensor& tensor, int to, int tag, const Fingerprint& call) = 0;
  virtual Made make_receive(const Tensor& tensor, int from, int tag, const Fingerprint& call) = 0;
  virtual Made make_barrier(const Fingerprint& call) = 0;
  // Every rank's bytes into `*results`, by rank; all of one length where `equal_lengths`.
  virtual Made make_exchange(std::string bytes, bool equal_lengths, Results results,
                             const Fingerprint& call) = 0;

  Engine& engine() const { return engine_; }
  Device& device() const { return device_; }
  TrafficLedger& traffic() const { return traffic_; }
  const std::vector<int>& members() const { return members_; }
  // Color and key of every rank to the world ranks of this rank's new group and its place there.
  struct NewGroup {
    std::vector<int> members;
    int rank = 0;
    int64_t call = 0;     // the same on every rank of this group
    int64_t largest = 0;  // over the ranks, of the number they brought
  };
  NewGroup agree_on_split(int color, int key, int64_t brought);

 private:
  Fingerprint fingerprint(Collective operation, const char* purpose);
  Work launch(Made made, const Fingerprint& call, int64_t flight);
  int64_t record_start(const Fingerprint& call);
  std::vector<std::string> exchange(std::string bytes, bool equal_lengths, const Fingerprint& call);
  template <typename T>
  void all_reduce_host(std::span<T> values, ReduceOp op, DType dtype);
  void check_tensor(Collective operation, const char* what, const Tensor& tensor, int64_t least) const;
  void check_peer(Collective operation, int peer, int tag) const;
  // This rank's share, in whole elements, of what all ranks send together.
  int64_t share_of(int64_t sent_by_all) const;

  std::string name_;
  int rank_;
  std::vector<int> members_;
  Engine& engine_;
  Device& device_;
  TrafficLedger& traffic_;
  int64_t sequence_ = 0;
};

}  // namespace octant
