// A group of thread ranks as one of them sees it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "parallel/group_communicator.h"
#include "parallel/threads/operations.h"

namespace octant::threads {

class ThreadCommunicator final : public GroupCommunicator {
 public:
  ThreadCommunicator(std::string name, std::shared_ptr<Group> group, int rank, Engine& engine, Device& device,
                     TrafficLedger& traffic);

  std::unique_ptr<Communicator> split(const std::string& name, int color, int key) override;

 private:
  Made make_all_reduce(std::vector<Tensor> tensors, const Fingerprint& call) override;
  Made make_reduce_scatter(std::vector<ReduceScatterPiece> pieces, const Fingerprint& call) override;
  Made make_all_gather(std::vector<AllGatherPiece> pieces, const Fingerprint& call) override;
  Made make_broadcast(const Tensor& tensor, const Fingerprint& call) override;
  Made make_all_to_all(const Tensor& input, const Tensor& output, const Fingerprint& call) override;
  Made make_send(const Tensor& tensor, int to, int tag, const Fingerprint& call) override;
  Made make_receive(const Tensor& tensor, int from, int tag, const Fingerprint& call) override;
  Made make_barrier(const Fingerprint& call) override;
  Made make_exchange(std::string bytes, bool equal_lengths, Results results,
                     const Fingerprint& call) override;

  Place meet(const Fingerprint& call);
  Place message(int from, int to, int tag, int64_t sequence, int place);

  std::shared_ptr<Group> group_;
  std::map<std::pair<int, int>, int64_t> sent_, received_;  // messages by peer and tag
};

}  // namespace octant::threads
