#include "parallel/threads/communicator.h"

#include <utility>

namespace octant::threads {

ThreadCommunicator::ThreadCommunicator(std::string name, std::shared_ptr<Group> group, int rank,
                                       Engine& engine, Device& device, TrafficLedger& traffic)
    : GroupCommunicator(std::move(name), rank, group->members(), engine, device, traffic),
      group_(std::move(group)) {}

Place ThreadCommunicator::meet(const Fingerprint& call) {
  return {engine(), group_->fabric(), name(), group_->collective(call.sequence), rank()};
}

Place ThreadCommunicator::message(int from, int to, int tag, int64_t sequence, int place) {
  return {engine(), group_->fabric(), name(), group_->message(from, to, tag, sequence), place};
}

ThreadCommunicator::Made ThreadCommunicator::make_all_reduce(std::vector<Tensor> tensors,
                                                             const Fingerprint& call) {
  return threads::make_all_reduce(meet(call), std::move(tensors), call);
}
ThreadCommunicator::Made ThreadCommunicator::make_reduce_scatter(std::vector<ReduceScatterPiece> pieces,
                                                                 const Fingerprint& call) {
  return threads::make_reduce_scatter(meet(call), std::move(pieces), call);
}
ThreadCommunicator::Made ThreadCommunicator::make_all_gather(std::vector<AllGatherPiece> pieces,
                                                             const Fingerprint& call) {
  return threads::make_all_gather(meet(call), std::move(pieces), call);
}
ThreadCommunicator::Made ThreadCommunicator::make_broadcast(const Tensor& tensor, const Fingerprint& call) {
  return threads::make_broadcast(meet(call), tensor, call);
}
ThreadCommunicator::Made ThreadCommunicator::make_all_to_all(const Tensor& input, const Tensor& output,
                                                             const Fingerprint& call) {
  return threads::make_all_to_all(meet(call), input, output, call);
}
ThreadCommunicator::Made ThreadCommunicator::make_send(const Tensor& tensor, int to, int tag,
                                                       const Fingerprint& call) {
  return threads::make_message(message(rank(), to, tag, sent_[{to, tag}]++, 0), tensor, call);
}
ThreadCommunicator::Made ThreadCommunicator::make_receive(const Tensor& tensor, int from, int tag,
                                                          const Fingerprint& call) {
  return threads::make_message(message(from, rank(), tag, received_[{from, tag}]++, 1), tensor, call);
}
ThreadCommunicator::Made ThreadCommunicator::make_barrier(const Fingerprint& call) {
  return threads::make_barrier(meet(call), call);
}
ThreadCommunicator::Made ThreadCommunicator::make_exchange(std::string bytes, bool, Results results,
                                                           const Fingerprint& call) {
  return threads::make_exchange(meet(call), std::move(bytes), std::move(results), call);
}

std::unique_ptr<Communicator> ThreadCommunicator::split(const std::string& name, int color, int key) {
  const NewGroup chosen = agree_on_split(color, key, 0);
  auto group = group_->fabric().join_group({group_.get(), chosen.call, color}, name, chosen.members);
  return std::make_unique<ThreadCommunicator>(name, std::move(group), chosen.rank, engine(), device(),
                                              traffic());
}

}  // namespace octant::threads
