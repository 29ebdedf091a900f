#include "parallel/mpi/communicator.h"

#include <utility>

namespace octant::mpi {

MpiCommunicator::MpiCommunicator(const SitePtr& site, Channels& channels, TrafficLedger& traffic)
    : GroupCommunicator(site->group, site->rank, site->members, site->engine, site->device, traffic),
      site_(site),
      channels_(channels) {}

MpiCommunicator::Made MpiCommunicator::make_all_reduce(std::vector<Tensor> tensors, const Fingerprint& call) {
  return mpi::make_all_reduce(site_, std::move(tensors), call);
}
MpiCommunicator::Made MpiCommunicator::make_reduce_scatter(std::vector<ReduceScatterPiece> pieces,
                                                           const Fingerprint& call) {
  return mpi::make_reduce_scatter(site_, std::move(pieces), call);
}
MpiCommunicator::Made MpiCommunicator::make_all_gather(std::vector<AllGatherPiece> pieces,
                                                       const Fingerprint& call) {
  return mpi::make_all_gather(site_, std::move(pieces), call);
}
MpiCommunicator::Made MpiCommunicator::make_broadcast(const Tensor& tensor, const Fingerprint& call) {
  return mpi::make_broadcast(site_, tensor, call);
}
MpiCommunicator::Made MpiCommunicator::make_all_to_all(const Tensor& input, const Tensor& output,
                                                       const Fingerprint& call) {
  return mpi::make_all_to_all(site_, input, output, call);
}
MpiCommunicator::Made MpiCommunicator::make_send(const Tensor& tensor, int to, int tag,
                                                 const Fingerprint& call) {
  return mpi::make_send(site_, tensor, to, tag, call);
}
MpiCommunicator::Made MpiCommunicator::make_receive(const Tensor& tensor, int from, int tag,
                                                    const Fingerprint& call) {
  return mpi::make_receive(site_, tensor, from, tag, call);
}
MpiCommunicator::Made MpiCommunicator::make_barrier(const Fingerprint& call) {
  return mpi::make_barrier(site_, call);
}
MpiCommunicator::Made MpiCommunicator::make_exchange(std::string bytes, bool equal_lengths, Results results,
                                                     const Fingerprint& call) {
  return mpi::make_exchange(site_, std::move(bytes), equal_lengths, std::move(results), call);
}

std::unique_ptr<Communicator> MpiCommunicator::split(const std::string& name, int color, int key) {
  // All ranks of this group take the largest number that any of them would, so no two of its ranks have used
  // it together.
  const NewGroup chosen = agree_on_split(color, key, channels_.next_group);
  check_group_number(chosen.largest);
  channels_.next_group = chosen.largest + 1;
  auto site = std::make_shared<Site>(*site_);
  site->group = name;
  site->members = chosen.members;
  site->rank = chosen.rank;
  site->number = chosen.largest;
  return std::make_unique<MpiCommunicator>(site, channels_, traffic());
}

}  // namespace octant::mpi
