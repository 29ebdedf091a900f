// The operations that sum.
#include <utility>

#include "parallel/mpi/summing_operation.h"
#include "parallel/pieces.h"

namespace octant::mpi {
namespace {

// Reduces a piece on each rank, then shares the pieces, as messages round by round. That an owner offers its
// sums says that it has read what the others laid open for them.
class AllReduce final : public SummingOperation {
 public:
  AllReduce(const SitePtr& site, std::vector<Tensor> tensors, const Fingerprint& call)
      : SummingOperation(site, call), tensors_(std::move(tensors)), total_(total_elements(tensors_)) {}

 private:
  Range piece(int owner) const { return piece_of(total_, size(), owner); }
  int64_t bytes_of(int owner) const {
    int64_t bytes = 0;
    for_each_part(tensors_, piece(owner), [&](size_t index, int64_t, int64_t count) {
      bytes += count * size_of(tensors_[index].dtype());
    });
    return bytes;
  }
  // Whether what belongs to `owner` is read, by the owner to sum it and from the owner when it is summed.
  bool is_read_of(int owner, int peer) const { return is_read(peer, bytes_of(owner)); }

  // visit(data, bytes) for every message that the owner's piece travels in.
  template <typename Visit>
  void messages_of(int owner, Visit&& visit) {
    Rounds rounds;
    for_each_part(tensors_, piece(owner), [&](size_t index, int64_t first, int64_t elements) {
      const DType dtype = tensors_[index].dtype();
      rounds.cut(elements, size_of(dtype), [&](int, int64_t, int64_t begin, int64_t count) {
        visit(element(tensors_[index].data(), first + begin, dtype), count * size_of(dtype));
      });
    });
  }
  void offer_piece(int owner, int to, Phase phase) {
    clear_offers(to);
    for_each_part(tensors_, piece(owner), [&](size_t index, int64_t begin, int64_t count) {
      const DType dtype = tensors_[index].dtype();
      add_offer(to, element(tensors_[index].data(), begin, dtype), count * size_of(dtype));
    });
    send_offers(to, phase);
  }

  void prepare() override {
    if (size() == 1) return;
    for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t begin, int64_t count) {
      const DType dtype = tensors_[index].dtype();
      void* const own = element(tensors_[index].data(), begin, dtype);
      add_part({.count = count, .dtype = dtype, .own = own, .target = own, .target_dtype = dtype});
    });
    make_room();
  }

  void post() override {
    if (size() == 1) return;
    expect(Phase::kExchange);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      if (is_read_of(q, q))
        offer_piece(q, q, Phase::kExchange);
      else
        messages_of(q, [&](const void* data, int64_t bytes) { send_to(q, data, bytes); });
    }
  }

  bool advance_early() override {
    if (size() == 1) return false;
    bool did = sum_arrived();
    // Where the sums go, a message may still leave from.
    if (!receiving_ && transfers_.idle(kSends)) {
      receiving_ = did = true;
      receive_sums();
    }
    if (!offering_ && summed()) {
      offering_ = did = true;
      offer_sums();
    }
    return did;
  }

  void share(const Part& part, int64_t begin, int64_t count) override {
    transfers_.begin_batch(kSums);
    for (int step = 1; step < size(); ++step)
      if (!is_read_of(rank(), peer(step)))
        send_to(peer(step), element(part.target, begin, part.target_dtype),
                count * size_of(part.target_dtype), Phase::kGather);
  }

  void receive_sums() {
    transfers_.begin_batch(kSums);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      if (is_read_of(q, q)) continue;
      messages_of(q, [&](void* data, int64_t bytes) { receive_from(q, data, bytes, Phase::kGather); });
    }
  }

  void offer_sums() {
    transfers_.begin_batch(kSums);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      if (is_read_of(q, q)) {
        int parts = 0;
        for_each_part(tensors_, piece(q), [&](size_t, int64_t, int64_t) { ++parts; });
        receive_offers(q, parts, Phase::kGather);
      }
      if (is_read_of(rank(), q)) offer_piece(rank(), q, Phase::kGather);
    }
  }

  bool advance() override {
    if (size() == 1 || std::exchange(read_, true)) return false;
    bool answers = false;
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      if (is_read_of(q, q)) {
        size_t part = 0;
        for_each_part(tensors_, piece(q), [&](size_t index, int64_t begin, int64_t count) {
          const DType dtype = tensors_[index].dtype();
          read_offer(q, part++, element(tensors_[index].data(), begin, dtype), count * size_of(dtype));
        });
        send_answer(q, Phase::kGather);
        answers = true;
      }
      if (is_read_of(rank(), q)) {
        receive_answer(q, Phase::kGather);
        answers = true;
      }
    }
    return answers;
  }

  std::vector<Tensor> tensors_;
  int64_t total_;
  bool receiving_ = false, offering_ = false, read_ = false;
};

class ReduceScatter final : public SummingOperation {
 public:
  ReduceScatter(const SitePtr& site, std::vector<ReduceScatterPiece> pieces, const Fingerprint& call)
      : SummingOperation(site, call), pieces_(std::move(pieces)) {}

 private:
  void prepare() override {
    for (const ReduceScatterPiece& piece : pieces_) {
      if (piece.count == 0) continue;
      const DType dtype = piece.source.dtype();
      const void* own = element(piece.source.data(), rank() * piece.stride, dtype);
      if (size() == 1 && !piece.accumulate && dtype == piece.target.dtype()) {
        copy(piece.target.data(), own, piece.count * size_of(dtype));
        continue;
      }
      add_part({.count = piece.count,
                .dtype = dtype,
                .own = own,
                .target = piece.target.data(),
                .target_dtype = piece.target.dtype(),
                .accumulate = piece.accumulate});
    }
    make_room();
  }

  void post() override {
    expect(Phase::kExchange);
    for (int step = 1; step < size(); ++step) give(peer(step));
  }

  // Sends a rank its slices, or offers them.
  void give(int to) {
    Rounds rounds;
    for (const ReduceScatterPiece& piece : pieces_) {
      if (piece.count == 0) continue;
      const DType dtype = piece.source.dtype();
      const std::byte* const theirs = element(piece.source.data(), to * piece.stride, dtype);
      if (reads(to)) {
        add_offer(to, theirs, piece.count * size_of(dtype));
        continue;
      }
      rounds.cut(piece.count, size_of(dtype), [&](int, int64_t, int64_t begin, int64_t count) {
        send_to(to, theirs + begin * size_of(dtype), count * size_of(dtype));
      });
    }
    if (reads(to)) send_offers(to, Phase::kExchange);
  }

  bool advance_early() override { return sum_arrived(); }

  bool advance() override {
    if (std::exchange(answered_, true)) return false;
    bool answers = false;
    for (int step = 1; step < size(); ++step) {
      if (!reads(peer(step))) continue;
      send_answer(peer(step), Phase::kExchange);
      receive_answer(peer(step), Phase::kExchange);
      answers = true;
    }
    return answers;
  }

  std::vector<ReduceScatterPiece> pieces_;
  bool answered_ = false;
};

}  // namespace

std::shared_ptr<Operation> make_all_reduce(const SitePtr& site, std::vector<Tensor> tensors,
                                           const Fingerprint& call) {
  auto operation = std::make_shared<AllReduce>(site, std::move(tensors), call);
  operation->begin();
  return operation;
}

std::shared_ptr<Operation> make_reduce_scatter(const SitePtr& site, std::vector<ReduceScatterPiece> pieces,
                                               const Fingerprint& call) {
  auto operation = std::make_shared<ReduceScatter>(site, std::move(pieces), call);
  operation->begin();
  return operation;
}

}  // namespace octant::mpi
