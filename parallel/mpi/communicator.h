// A group of mpi ranks as this process sees it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallel/group_communicator.h"
#include "parallel/mpi/operations.h"

namespace octant::mpi {

class MpiCommunicator final : public GroupCommunicator {
 public:
  MpiCommunicator(const SitePtr& site, Channels& channels, TrafficLedger& traffic);

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

  SitePtr site_;
  Channels& channels_;
};

}  // namespace octant::mpi
