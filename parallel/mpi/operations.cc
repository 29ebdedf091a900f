#include "parallel/mpi/operations.h"

#include <utility>

#include "parallel/pieces.h"

namespace octant::mpi {
namespace {

class AllGather final : public MpiOperation {
 public:
  AllGather(const SitePtr& site, std::vector<AllGatherPiece> pieces, const Fingerprint& call)
      : MpiOperation(site, call), pieces_(std::move(pieces)) {}

 private:
  bool reads(int q) const { return is_read(q, bytes_); }

  void post() override {
    int parts = 0;
    for (const AllGatherPiece& piece : pieces_) {
      bytes_ += piece.count * size_of(piece.source.dtype());
      parts += piece.count > 0 ? 1 : 0;
    }
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      if (reads(q)) receive_offers(q, parts, Phase::kExchange);
      for (const AllGatherPiece& piece : pieces_) {
        if (piece.count == 0) continue;
        const DType dtype = piece.source.dtype();
        const int64_t bytes = piece.count * size_of(dtype);
        if (reads(q)) {
          add_offer(q, piece.source.data(), bytes);
        } else {
          receive_from(q, element(piece.target.data(), q * piece.stride, dtype), bytes);
          send_to(q, piece.source.data(), bytes);
        }
      }
      if (reads(q)) send_offers(q, Phase::kExchange);
    }
    for (const AllGatherPiece& piece : pieces_) {
      const DType dtype = piece.source.dtype();
      copy(element(piece.target.data(), rank() * piece.stride, dtype), piece.source.data(),
           piece.count * size_of(dtype));
    }
  }

  bool advance() override {
    if (std::exchange(gathered_, true)) return false;
    bool answers = false;
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      if (!reads(q)) continue;
      size_t part = 0;
      for (const AllGatherPiece& piece : pieces_) {
        if (piece.count == 0) continue;
        const DType dtype = piece.source.dtype();
        read_offer(q, part++, element(piece.target.data(), q * piece.stride, dtype),
                   piece.count * size_of(dtype));
      }
      send_answer(q, Phase::kExchange);
      receive_answer(q, Phase::kExchange);
      answers = true;
    }
    return answers;
  }

  int64_t bytes_ = 0;  // of a rank's pieces
  bool gathered_ = false;
  std::vector<AllGatherPiece> pieces_;
};

class Broadcast final : public MpiOperation {
 public:
  Broadcast(const SitePtr& site, Tensor tensor, const Fingerprint& call)
      : MpiOperation(site, call), tensor_(std::move(tensor)) {}

 private:
  void post() override {
    if (rank() != call().root) {
      receive_from(call().root, tensor_.data(), tensor_.bytes());
      return;
    }
    for (int step = 1; step < size(); ++step) send_to(peer(step), tensor_.data(), tensor_.bytes());
  }

  Tensor tensor_;
};

class AllToAll final : public MpiOperation {
 public:
  AllToAll(const SitePtr& site, Tensor input, Tensor output, const Fingerprint& call)
      : MpiOperation(site, call), input_(std::move(input)), output_(std::move(output)) {}

 private:
  void post() override {
    const int64_t count = input_.elements() / size();
    const DType dtype = input_.dtype();
    const int64_t bytes = count * size_of(dtype);
    for (int step = 1; step < size(); ++step) {
      receive_from(peer(step), element(output_.data(), peer(step) * count, dtype), bytes);
      send_to(peer(step), element(input_.data(), peer(step) * count, dtype), bytes);
    }
    copy(element(output_.data(), rank() * count, dtype), element(input_.data(), rank() * count, dtype),
         bytes);
  }

  Tensor input_, output_;
};

// Either end of a message. Its tag is the caller's: messages of one tag arrive in order because mpi keeps it.
class Message final : public MpiOperation {
 public:
  Message(const SitePtr& site, Tensor tensor, int peer, int tag, const Fingerprint& call)
      : MpiOperation(site, call, false),
        tensor_(std::move(tensor)),
        peer_(peer),
        tag_(message_tag(site->number, tag)) {}

 private:
  void post() override {
    const MPI_Comm channel = site().channels.messages;
    const int to = world_rank(peer_);
    const bool sends = call().operation == Collective::kSend;
    if (tensor_.bytes() == 0)
      sends ? transfers_.send_empty(channel, to, tag_) : transfers_.receive_empty(channel, to, tag_);
    else if (sends)
      transfers_.send(channel, tensor_.data(), tensor_.bytes(), to, tag_);
    else
      transfers_.receive(channel, tensor_.data(), tensor_.bytes(), to, tag_);
  }

  Tensor tensor_;
  int peer_;
  int tag_;
};

class Barrier final : public MpiOperation {
 public:
  Barrier(const SitePtr& site, const Fingerprint& call) : MpiOperation(site, call) {}

 private:
  void post() override {
    for (int step = 1; step < size(); ++step) {
      transfers_.receive_empty(site().channels.collectives, world_rank(peer(step)), tag(Phase::kExchange));
      transfers_.send_empty(site().channels.collectives, world_rank(peer(step)), tag(Phase::kExchange));
    }
  }
};

// Every rank's bytes to every rank; lengths first where they may differ.
class Exchange final : public MpiOperation {
 public:
  Exchange(const SitePtr& site, std::string bytes, bool equal_lengths, Results results,
           const Fingerprint& call)
      : MpiOperation(site, call),
        bytes_(std::move(bytes)),
        length_(static_cast<int64_t>(bytes_.size())),
        know_lengths_(equal_lengths),
        results_(std::move(results)) {
    lengths_.assign(static_cast<size_t>(size()), length_);
  }

 private:
  void post() override {
    if (know_lengths_) return post_bytes(Phase::kExchange);
    for (int step = 1; step < size(); ++step) {
      receive_from(peer(step), &lengths_[static_cast<size_t>(peer(step))], sizeof(int64_t));
      send_to(peer(step), &length_, sizeof(int64_t));
    }
  }

  bool advance() override {
    if (know_lengths_) return false;
    know_lengths_ = true;
    post_bytes(Phase::kGather);
    return true;
  }

  void post_bytes(Phase phase) {
    results_->resize(static_cast<size_t>(size()));
    for (int step = 1; step < size(); ++step) {
      const auto q = static_cast<size_t>(peer(step));
      (*results_)[q].resize(static_cast<size_t>(lengths_[q]));
      receive_from(peer(step), (*results_)[q].data(), lengths_[q], phase);
      send_to(peer(step), bytes_.data(), length_, phase);
    }
    (*results_)[static_cast<size_t>(rank())] = bytes_;
  }

  std::string bytes_;
  int64_t length_;
  bool know_lengths_;
  Results results_;
  std::vector<int64_t> lengths_;
};

template <typename Kind, typename... Arguments>
std::shared_ptr<Operation> begun(Arguments&&... arguments) {
  auto operation = std::make_shared<Kind>(std::forward<Arguments>(arguments)...);
  operation->begin();
  return operation;
}

}  // namespace

std::shared_ptr<Operation> make_all_gather(const SitePtr& site, std::vector<AllGatherPiece> pieces,
                                           const Fingerprint& call) {
  return begun<AllGather>(site, std::move(pieces), call);
}
std::shared_ptr<Operation> make_broadcast(const SitePtr& site, const Tensor& tensor,
                                          const Fingerprint& call) {
  return begun<Broadcast>(site, tensor, call);
}
std::shared_ptr<Operation> make_all_to_all(const SitePtr& site, const Tensor& input, const Tensor& output,
                                           const Fingerprint& call) {
  return begun<AllToAll>(site, input, output, call);
}
std::shared_ptr<Operation> make_send(const SitePtr& site, const Tensor& tensor, int to, int tag,
                                     const Fingerprint& call) {
  return begun<Message>(site, tensor, to, tag, call);
}
std::shared_ptr<Operation> make_receive(const SitePtr& site, const Tensor& tensor, int from, int tag,
                                        const Fingerprint& call) {
  return begun<Message>(site, tensor, from, tag, call);
}
std::shared_ptr<Operation> make_barrier(const SitePtr& site, const Fingerprint& call) {
  return begun<Barrier>(site, call);
}
std::shared_ptr<Operation> make_exchange(const SitePtr& site, std::string bytes, bool equal_lengths,
                                         Results results, const Fingerprint& call) {
  return begun<Exchange>(site, std::move(bytes), equal_lengths, std::move(results), call);
}

}  // namespace octant::mpi
