// The operations that sum. What the peers send goes through memory of its own (MemoryKind::kCommunication), a
// round at a time: while one round is summed the next is on its way. The sources are added in rank order, this
// rank's own among them, with one rounding.
#include <algorithm>
#include <utility>

#include "parallel/mpi/operations.h"
#include "parallel/pieces.h"

namespace octant::mpi {
namespace {

constexpr int64_t aligned(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// Cuts parts of a slice, given in order, into the messages of rounds; sender and receiver cut alike.
class Rounds {
 public:
  static constexpr int64_t kBytes = int64_t{4} << 20;  // of a round

  // visit(round, offset, begin, count): elements [begin, begin + count) of the part travel in this round, and
  // lie `offset` bytes from its start.
  template <typename Visit>
  void cut(int64_t elements, int64_t width, Visit&& visit) {
    for (int64_t begin = 0; begin < elements;) {
      if (filled_ == kBytes) {
        ++round_;
        filled_ = 0;
      }
      const int64_t count = std::min(elements - begin, (kBytes - filled_) / width);
      visit(round_, filled_, begin, count);
      filled_ = std::min(kBytes, filled_ + aligned(count * width));
      begin += count;
    }
  }
  // Bytes of the longest round so far.
  int64_t longest() const { return round_ > 0 ? kBytes : filled_; }

 private:
  int round_ = 0;
  int64_t filled_ = 0;
};

// Sums slices of all ranks in rank order. Of a rank that sends, two rounds are on their way at a time; of one
// whose memory is read, a piece at a time is, small enough that the sum finds it in the cache.
class SummingOperation : public MpiOperation {
 protected:
  using MpiOperation::MpiOperation;

  // Batches of messages: the two rounds that arrive (0, 1), what the peers lay open, what this rank sends, and
  // sums on their way.
  enum Batch : int { kOffers = 2, kSends = 3, kSums = 4 };

  // A part of this rank's slice: what is summed, and where to. Parts are added in the order of their offers.
  struct Part {
    int64_t count = 0;
    DType dtype = DType::kF32;
    const void* own = nullptr;
    void* target = nullptr;
    DType target_dtype = DType::kF32;
    bool accumulate = false;
  };
  void add_part(const Part& part) {
    rounds_.cut(
        part.count, size_of(part.dtype), [&](int round, int64_t offset, int64_t begin, int64_t count) {
          chunks_.push_back(
              {.part = parts_.size(), .round = round, .offset = offset, .begin = begin, .count = count});
        });
    parts_.push_back(part);
    slice_bytes_ += part.count * size_of(part.dtype);
  }

  // All parts were added: posts the receives of the first rounds.
  void expect(Phase phase) {
    slots_ = std::vector<int64_t>(static_cast<size_t>(size()), 0);
    int64_t senders = 0, read = 0;
    transfers_.begin_batch(kOffers);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      slots_[static_cast<size_t>(q)] = reads(q) ? read++ : senders++;
      if (reads(q)) receive_offers(q, static_cast<int>(parts_.size()), phase);
    }
    buffers_ = chunks_.empty() ? 0 : std::min(2, chunks_.back().round + 1);
    if (senders > 0 && buffers_ > 0)
      received_ =
          device().allocate({senders * buffers_ * rounds_.longest()}, DType::kU8, MemoryKind::kCommunication);
    if (read > 0) window_ = device().allocate({read * kWindow}, DType::kU8, MemoryKind::kCommunication);
    for (int round = 0; round < buffers_; ++round) receive_round();
    transfers_.begin_batch(kSends);
  }
  bool reads(int q) const { return is_read(q, slice_bytes_); }

  // Sums the next round if it is here.
  bool sum_arrived() {
    if (summed() || !transfers_.idle(kOffers)) return false;
    const int round = chunks_[next_].round;
    if (!transfers_.idle(round % 2)) return false;
    const size_t first = next_;
    for (; next_ < chunks_.size() && chunks_[next_].round == round; ++next_) sum(chunks_[next_]);
    device().ops().synchronize(device().compute());
    for (size_t chunk = first; chunk < next_; ++chunk)
      share(parts_[chunks_[chunk].part], chunks_[chunk].begin, chunks_[chunk].count);
    receive_round();
    return true;
  }
  bool summed() const { return next_ == chunks_.size(); }
  // Elements [begin, begin + count) of a part are summed.
  virtual void share(const Part&, int64_t, int64_t) {}
  void forget() {
    received_.reset();
    window_.reset();
  }

 private:
  static constexpr int64_t kWindow = int64_t{256} << 10;

  struct Chunk {
    size_t part = 0;
    int round = 0;
    int64_t offset = 0;  // bytes from the start of its round
    int64_t begin = 0;   // elements from the start of its part
    int64_t count = 0;
  };

  std::byte* received(int q, const Chunk& chunk) const {
    const int64_t buffer = slots_[static_cast<size_t>(q)] * buffers_ + chunk.round % 2;
    return element(received_.data(), buffer * rounds_.longest() + chunk.offset, DType::kU8);
  }

  // Posts the receives of the first round that has none.
  void receive_round() {
    if (posted_ == chunks_.size()) return;
    const int round = chunks_[posted_].round;
    transfers_.begin_batch(round % 2);
    for (; posted_ < chunks_.size() && chunks_[posted_].round == round; ++posted_) {
      const Chunk& chunk = chunks_[posted_];
      const int64_t bytes = chunk.count * size_of(parts_[chunk.part].dtype);
      for (int step = 1; step < size(); ++step)
        if (!reads(peer(step))) receive_from(peer(step), received(peer(step), chunk), bytes);
    }
  }

  void sum(const Chunk& chunk) {
    const Part& part = parts_[chunk.part];
    const int64_t width = size_of(part.dtype);
    sources_.resize(static_cast<size_t>(size()));
    bool any_read = false;
    for (int step = 1; step < size(); ++step) {
      if (!reads(peer(step))) continue;
      check_offer(peer(step), chunk.part, part.count * width);
      any_read = true;
    }
    const int64_t most = any_read ? kWindow / width : chunk.count;
    for (int64_t done = 0; done < chunk.count; done += most) {
      const int64_t count = std::min(most, chunk.count - done), begin = chunk.begin + done;
      sources_[static_cast<size_t>(rank())] = element(part.own, begin, part.dtype);
      for (int step = 1; step < size(); ++step) {
        const int q = peer(step);
        std::byte* here = nullptr;
        if (reads(q)) {
          here = element(window_.data(), slots_[static_cast<size_t>(q)] * kWindow, DType::kU8);
          read_offer(q, chunk.part, begin * width, here, count * width);
        } else {
          here = received(q, chunk) + done * width;
        }
        sources_[static_cast<size_t>(q)] = here;
      }
      device().ops().reduce(device().compute(), {.n = count,
                                                 .num_sources = size(),
                                                 .sources = sources_.data(),
                                                 .dtype = part.dtype,
                                                 .out = element(part.target, begin, part.target_dtype),
                                                 .out_dtype = part.target_dtype,
                                                 .op = call().reduce,
                                                 .accumulate = part.accumulate});
    }
  }

  std::vector<Part> parts_;
  std::vector<Chunk> chunks_;
  Rounds rounds_;
  int64_t slice_bytes_ = 0;       // of one rank
  std::vector<int64_t> slots_;    // by group rank: place among those read, or among those that send
  int buffers_ = 0;               // rounds of one sender that have room at a time
  size_t next_ = 0, posted_ = 0;  // chunks
  std::vector<const void*> sources_;
  Tensor received_, window_;
};

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

  void post() override {
    if (size() == 1) return;
    for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t begin, int64_t count) {
      const DType dtype = tensors_[index].dtype();
      void* const own = element(tensors_[index].data(), begin, dtype);
      add_part({.count = count, .dtype = dtype, .own = own, .target = own, .target_dtype = dtype});
    });
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
      forget();
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
  void post() override {
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
    forget();
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
