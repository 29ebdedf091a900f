#include "parallel/group_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "parallel/pieces.h"

namespace octant {
namespace {

constexpr const char* kControl = "control";

// Up to here a rank sums and copies in less time than it takes to wake another thread.
constexpr int64_t kAtOnce = 65536;

void check_reduction(DType dtype, ReduceOp op) {
  if (dtype == DType::kU8 && op == ReduceOp::kSum)
    throw BugError("all_reduce: a sum of u8 would overflow; use max, or i32");
}

}  // namespace

GroupCommunicator::GroupCommunicator(std::string name, int rank, std::vector<int> members, Engine& engine,
                                     Device& device, TrafficLedger& traffic)
    : name_(std::move(name)),
      rank_(rank),
      members_(std::move(members)),
      engine_(engine),
      device_(device),
      traffic_(traffic) {}

int GroupCommunicator::world_rank(int group_rank) const {
  if (group_rank < 0 || group_rank >= size())
    throw BugError(fmt::format("group {} has {} ranks; there is no rank {}", name_, size(), group_rank));
  return members_[static_cast<size_t>(group_rank)];
}

Fingerprint GroupCommunicator::fingerprint(Collective operation, const char* purpose) {
  engine_.rethrow_remembered();
  Fingerprint call;
  call.operation = operation;
  call.set_purpose(purpose);
  return call;
}

int64_t GroupCommunicator::record_start(const Fingerprint& call) {
  return engine_.recorder().start(name_, call.operation, call.sequence, call.bytes);
}

Work GroupCommunicator::launch(Made made, const Fingerprint& call, int64_t flight) {
  engine_.start(made, flight, call.bytes <= kAtOnce);
  return Work(std::move(made));
}

int64_t GroupCommunicator::share_of(int64_t sent_by_all) const {
  // Shares add up to the whole and equal the formula wherever the ranks divide it.
  const int64_t whole = sent_by_all / size();
  const int64_t rest = sent_by_all % size();
  return whole + rest * (rank_ + 1) / size() - rest * rank_ / size();
}

void GroupCommunicator::check_tensor(Collective operation, const char* what, const Tensor& tensor,
                                     int64_t least) const {
  if (least > 0 && !tensor.defined())
    throw BugError(fmt::format("{} on group {}: {} is an undefined tensor", name_of(operation), name_, what));
  if (tensor.defined() && tensor.elements() < least)
    throw BugError(fmt::format("{} on group {}: {} holds {} elements and needs {}", name_of(operation), name_,
                               what, tensor.elements(), least));
}

void GroupCommunicator::check_peer(Collective operation, int peer, int tag) const {
  if (peer < 0 || peer >= size())
    throw BugError(fmt::format("{} on group {}: there is no rank {} among its {}", name_of(operation), name_,
                               peer, size()));
  if (tag < 0 || tag > 0xffff)
    throw BugError(fmt::format("{} on group {}: tag {} is not in 0…65535", name_of(operation), name_, tag));
}

Work GroupCommunicator::all_reduce(std::span<const Tensor> tensors, ReduceOp op, CallOptions options) {
  Fingerprint call = fingerprint(Collective::kAllReduce, options.purpose);
  call.reduce = op;
  for (const Tensor& tensor : tensors) {
    check_tensor(call.operation, "a tensor", tensor, tensor.elements());
    check_reduction(tensor.dtype(), op);
    call.add_piece(tensor.dtype(), 0, tensor.elements());
  }
  call.sequence = sequence_++;
  traffic_.record(name_, call.operation, options.purpose, share_of(2 * (size() - 1) * call.elements),
                  share_of(2 * (size() - 1) * call.bytes));
  const int64_t flight = record_start(call);
  return launch(make_all_reduce({tensors.begin(), tensors.end()}, call), call, flight);
}

Work GroupCommunicator::reduce_scatter(std::span<const ReduceScatterPiece> pieces, CallOptions options) {
  Fingerprint call = fingerprint(Collective::kReduceScatter, options.purpose);
  for (const ReduceScatterPiece& piece : pieces) {
    if (piece.count < 0 || piece.stride < 0)
      throw BugError(fmt::format("reduce_scatter on group {}: a piece of {} elements, {} apart", name_,
                                 piece.count, piece.stride));
    if (piece.count > 0) {
      check_tensor(call.operation, "source", piece.source, (size() - 1) * piece.stride + piece.count);
      check_tensor(call.operation, "target", piece.target, piece.count);
      check_reduction(piece.source.dtype(), ReduceOp::kSum);
      if (piece.target.dtype() != piece.source.dtype() && piece.target.dtype() != DType::kF32)
        throw BugError(fmt::format("reduce_scatter on group {}: a sum of {} goes to {} or f32, not to {}",
                                   name_, name_of(piece.source.dtype()), name_of(piece.source.dtype()),
                                   name_of(piece.target.dtype())));
    }
    call.add_piece(piece.source.dtype(), piece.stride, piece.count);
  }
  call.sequence = sequence_++;
  traffic_.record(name_, call.operation, options.purpose, (size() - 1) * call.elements,
                  (size() - 1) * call.bytes);
  const int64_t flight = record_start(call);
  return launch(make_reduce_scatter({pieces.begin(), pieces.end()}, call), call, flight);
}

Work GroupCommunicator::all_gather(std::span<const AllGatherPiece> pieces, CallOptions options) {
  Fingerprint call = fingerprint(Collective::kAllGather, options.purpose);
  for (const AllGatherPiece& piece : pieces) {
    if (piece.count < 0 || piece.stride < 0)
      throw BugError(fmt::format("all_gather on group {}: a piece of {} elements, {} apart", name_,
                                 piece.count, piece.stride));
    if (piece.count > 0) {
      check_tensor(call.operation, "source", piece.source, piece.count);
      check_tensor(call.operation, "target", piece.target, (size() - 1) * piece.stride + piece.count);
      if (piece.target.dtype() != piece.source.dtype())
        throw BugError(fmt::format("all_gather on group {}: the source is {} and the target {}", name_,
                                   name_of(piece.source.dtype()), name_of(piece.target.dtype())));
    }
    call.add_piece(piece.source.dtype(), piece.stride, piece.count);
  }
  call.sequence = sequence_++;
  traffic_.record(name_, call.operation, options.purpose, (size() - 1) * call.elements,
                  (size() - 1) * call.bytes);
  const int64_t flight = record_start(call);
  return launch(make_all_gather({pieces.begin(), pieces.end()}, call), call, flight);
}

Work GroupCommunicator::broadcast(const Tensor& tensor, int root, CallOptions options) {
  Fingerprint call = fingerprint(Collective::kBroadcast, options.purpose);
  check_peer(call.operation, root, 0);
  check_tensor(call.operation, "the tensor", tensor, tensor.elements());
  call.add_piece(tensor.dtype(), 0, tensor.elements());
  call.root = root;
  call.sequence = sequence_++;
  const int64_t peers = rank_ == root ? size() - 1 : 0;
  traffic_.record(name_, call.operation, options.purpose, peers * call.elements, peers * call.bytes);
  const int64_t flight = record_start(call);
  return launch(make_broadcast(tensor, call), call, flight);
}

Work GroupCommunicator::all_to_all(const Tensor& input, const Tensor& output, CallOptions options) {
  Fingerprint call = fingerprint(Collective::kAllToAll, options.purpose);
  check_tensor(call.operation, "input", input, input.elements());
  check_tensor(call.operation, "output", output, output.elements());
  if (input.dtype() != output.dtype() || input.elements() != output.elements())
    throw BugError(fmt::format("all_to_all on group {}: input is {} {} and output {} {}", name_,
                               input.shape().str(), name_of(input.dtype()), output.shape().str(),
                               name_of(output.dtype())));
  if (input.elements() > 0 && (input.shape().dims() == 0 || input.shape()[0] % size() != 0))
    throw BugError(fmt::format("all_to_all on group {}: dim 0 of {} is not a multiple of its {} ranks", name_,
                               input.shape().str(), size()));
  call.add_piece(input.dtype(), 0, input.elements());
  call.sequence = sequence_++;
  traffic_.record(name_, call.operation, options.purpose, call.elements / size() * (size() - 1),
                  call.bytes / size() * (size() - 1));
  const int64_t flight = record_start(call);
  return launch(make_all_to_all(input, output, call), call, flight);
}

Work GroupCommunicator::send(const Tensor& tensor, int to, int tag, CallOptions options) {
  Fingerprint call = fingerprint(Collective::kSend, options.purpose);
  check_peer(call.operation, to, tag);
  check_tensor(call.operation, "the tensor", tensor, tensor.elements());
  call.add_piece(tensor.dtype(), 0, tensor.elements());
  traffic_.record(name_, call.operation, options.purpose, call.elements, call.bytes);
  const int64_t flight = record_start(call);
  return launch(make_send(tensor, to, tag, call), call, flight);
}

Work GroupCommunicator::receive(const Tensor& tensor, int from, int tag, CallOptions options) {
  Fingerprint call = fingerprint(Collective::kReceive, options.purpose);
  check_peer(call.operation, from, tag);
  check_tensor(call.operation, "the tensor", tensor, tensor.elements());
  call.add_piece(tensor.dtype(), 0, tensor.elements());
  traffic_.record(name_, call.operation, options.purpose, 0, 0);
  const int64_t flight = record_start(call);
  return launch(make_receive(tensor, from, tag, call), call, flight);
}

Work GroupCommunicator::barrier() {
  Fingerprint call = fingerprint(Collective::kBarrier, kControl);
  call.sequence = sequence_++;
  traffic_.record(name_, call.operation, kControl, 0, 0);
  const int64_t flight = record_start(call);
  return launch(make_barrier(call), call, flight);
}

std::vector<std::string> GroupCommunicator::exchange(std::string bytes, bool equal_lengths,
                                                     const Fingerprint& call) {
  const auto results = std::make_shared<std::vector<std::string>>();
  const int64_t flight = record_start(call);
  const Made made = make_exchange(std::move(bytes), equal_lengths, results, call);
  engine_.start(made, flight, /*at_once=*/true);
  engine_.wait(*made);
  return std::move(*results);
}

template <typename T>
void GroupCommunicator::all_reduce_host(std::span<T> values, ReduceOp op, DType dtype) {
  Fingerprint call = fingerprint(Collective::kAllReduce, kControl);
  call.reduce = op;
  call.host = true;
  call.add_piece(dtype, 0, static_cast<int64_t>(values.size()));
  call.sequence = sequence_++;
  traffic_.record(name_, call.operation, kControl, share_of(2 * (size() - 1) * call.elements),
                  share_of(2 * (size() - 1) * call.bytes));
  if (size() == 1) return;
  const auto results =
      exchange(std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()), true, call);
  for (size_t i = 0; i < values.size(); ++i) {
    T result{};
    for (size_t q = 0; q < results.size(); ++q) {
      T value{};
      std::memcpy(&value, results[q].data() + i * sizeof(T), sizeof(T));
      if (q == 0)
        result = value;
      else if (op == ReduceOp::kSum)
        result += value;
      else if (value > result || value != value)  // a NaN wins on every rank
        result = value;
    }
    values[i] = result;
  }
}

void GroupCommunicator::all_reduce(std::span<double> values, ReduceOp op) {
  all_reduce_host(values, op, DType::kF64);
}

void GroupCommunicator::all_reduce(std::span<int64_t> values, ReduceOp op) {
  all_reduce_host(values, op, DType::kI64);
}

std::vector<double> GroupCommunicator::all_gather(std::span<const double> values) {
  Fingerprint call = fingerprint(Collective::kAllGather, kControl);
  call.host = true;
  call.add_piece(DType::kF64, 0, static_cast<int64_t>(values.size()));
  call.sequence = sequence_++;
  traffic_.record(name_, call.operation, kControl, (size() - 1) * call.elements, (size() - 1) * call.bytes);
  const auto results =
      exchange(std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()), true, call);
  std::vector<double> gathered(values.size() * results.size());
  for (size_t q = 0; q < results.size(); ++q)
    if (!values.empty())
      std::memcpy(gathered.data() + q * values.size(), results[q].data(), values.size_bytes());
  return gathered;
}

std::vector<std::string> GroupCommunicator::all_gather(const std::string& bytes) {
  Fingerprint call = fingerprint(Collective::kAllGather, kControl);
  call.host = true;  // lengths may differ between ranks, so the fingerprint leaves them out
  call.sequence = sequence_++;
  const int64_t sent = (size() - 1) * static_cast<int64_t>(bytes.size());
  traffic_.record(name_, call.operation, kControl, sent, sent);
  return exchange(bytes, false, call);
}

GroupCommunicator::NewGroup GroupCommunicator::agree_on_split(int color, int key, int64_t brought) {
  NewGroup group;
  group.call = sequence_;
  Fingerprint call = fingerprint(Collective::kAllGather, kControl);
  call.host = true;
  call.add_piece(DType::kI64, 0, 3);
  call.sequence = sequence_++;
  const std::array<int64_t, 3> mine = {color, key, brought};
  const auto all =
      exchange(std::string(reinterpret_cast<const char*>(mine.data()), sizeof(mine)), true, call);
  std::vector<std::tuple<int64_t, int>> chosen;  // key, rank
  for (int q = 0; q < size(); ++q) {
    std::array<int64_t, 3> theirs{};
    std::memcpy(theirs.data(), all[static_cast<size_t>(q)].data(), sizeof(theirs));
    group.largest = std::max(group.largest, theirs[2]);
    if (theirs[0] == color) chosen.emplace_back(theirs[1], q);
  }
  std::sort(chosen.begin(), chosen.end());
  for (const auto& [order, q] : chosen) {
    if (q == rank_) group.rank = static_cast<int>(group.members.size());
    group.members.push_back(world_rank(q));
  }
  return group;
}

}  // namespace octant
