// The operations that sum. What the peers send goes into memory of its own (MemoryKind::kCommunication); when
// all is there, the sources are added in rank order, this rank's own among them, with one rounding.
#include <algorithm>
#include <utility>

#include "parallel/mpi/operations.h"
#include "parallel/pieces.h"

namespace octant::mpi {
namespace {

constexpr int64_t aligned(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// Sums slices of all ranks in rank order. Of a rank that sends, a slice comes into memory of its own; of one
// whose memory is read, a piece at a time, small enough that the sum finds it in the cache.
class SummingOperation : public MpiOperation {
 protected:
  using MpiOperation::MpiOperation;

  // `bytes` in all arrive here from every rank, in as many parts as will be summed.
  void expect(int64_t bytes, int64_t parts_bytes, int parts, Phase phase) {
    reads_ = std::vector<char>(static_cast<size_t>(size()), 0);
    slots_ = std::vector<int64_t>(static_cast<size_t>(size()), 0);
    int64_t senders = 0, read = 0;
    for (int step = 1; step < size(); ++step) {
      const auto q = static_cast<size_t>(peer(step));
      reads_[q] = is_read(peer(step), bytes) ? 1 : 0;
      slots_[q] = reads_[q] != 0 ? read++ : senders++;
      if (reads_[q] != 0) receive_offers(peer(step), parts, phase);
    }
    slice_bytes_ = parts_bytes;
    if (senders > 0 && slice_bytes_ > 0)
      received_ = device().allocate({senders * slice_bytes_}, DType::kU8, MemoryKind::kCommunication);
    if (read > 0) window_ = device().allocate({read * kWindow}, DType::kU8, MemoryKind::kCommunication);
  }
  bool reads(int q) const { return reads_[static_cast<size_t>(q)] != 0; }
  std::byte* received(int q, int64_t offset) const {
    return element(received_.data(), slots_[static_cast<size_t>(q)] * slice_bytes_ + offset, DType::kU8);
  }

  struct Part {
    size_t index = 0;    // among the parts that were offered
    int64_t offset = 0;  // in a received slice
    int64_t count = 0;
    DType dtype = DType::kF32;
    const void* own = nullptr;
    void* target = nullptr;
    DType target_dtype = DType::kF32;
    bool accumulate = false;
  };
  void sum(const Part& part) {
    std::vector<const void*> sources(static_cast<size_t>(size()));
    const int64_t bytes = size_of(part.dtype);
    bool any_read = false;
    for (int step = 1; step < size(); ++step) {
      if (!reads(peer(step))) continue;
      check_offer(peer(step), part.index, part.count * bytes);
      any_read = true;
    }
    const int64_t most = any_read ? kWindow / bytes : part.count;
    for (int64_t begin = 0; begin < part.count; begin += most) {
      const int64_t count = std::min(most, part.count - begin);
      sources[static_cast<size_t>(rank())] = element(part.own, begin, part.dtype);
      for (int step = 1; step < size(); ++step) {
        const int q = peer(step);
        if (reads(q)) {
          std::byte* const here =
              element(window_.data(), slots_[static_cast<size_t>(q)] * kWindow, DType::kU8);
          read_offer(q, part.index, begin * bytes, here, count * bytes);
          sources[static_cast<size_t>(q)] = here;
        } else {
          sources[static_cast<size_t>(q)] = received(q, part.offset + begin * bytes);
        }
      }
      device().ops().reduce(device().compute(), {.n = count,
                                                 .num_sources = size(),
                                                 .sources = sources.data(),
                                                 .dtype = part.dtype,
                                                 .out = element(part.target, begin, part.target_dtype),
                                                 .out_dtype = part.target_dtype,
                                                 .op = call().reduce,
                                                 .accumulate = part.accumulate});
    }
  }
  void forget() {
    received_.reset();
    window_.reset();
  }

 private:
  static constexpr int64_t kWindow = int64_t{256} << 10;

  std::vector<char> reads_;     // by group rank: its memory is read
  std::vector<int64_t> slots_;  // by group rank: place among those read, or among those that send
  int64_t slice_bytes_ = 0;     // of one peer in received_
  Tensor received_, window_;
};

// Reduces a piece on each rank, then shares the pieces. That an owner offers its sums says that it has read
// what the others laid open for them.
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

  void post() override {
    if (size() == 1) return;
    int64_t slice = 0;
    for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t, int64_t count) {
      slice += aligned(count * size_of(tensors_[index].dtype()));
      ++parts_;
    });
    expect(bytes_of(rank()), slice, parts_, Phase::kExchange);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      int64_t offset = 0;
      for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t, int64_t count) {
        const int64_t bytes = count * size_of(tensors_[index].dtype());
        if (!reads(q)) receive_from(q, received(q, offset), bytes);
        offset += aligned(bytes);
      });
      give(q, piece(q), is_read(q, bytes_of(q)), Phase::kExchange);
    }
  }

  // Sends the elements of `range`, or offers them.
  void give(int to, Range range, bool offered, Phase phase) {
    clear_offers(to);
    for_each_part(tensors_, range, [&](size_t index, int64_t begin, int64_t count) {
      const DType dtype = tensors_[index].dtype();
      const std::byte* const data = element(tensors_[index].data(), begin, dtype);
      if (offered)
        add_offer(to, data, count * size_of(dtype));
      else
        send_to(to, data, count * size_of(dtype), phase);
    });
    if (offered) send_offers(to, phase);
  }

  bool advance() override {
    if (size() == 1) return false;
    switch (stage_++) {
      case 0:
        sum_piece();
        share();
        return true;
      case 1:
        return read_sums();
      default:
        return false;
    }
  }

  void sum_piece() {
    int64_t offset = 0;
    size_t part = 0;
    for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t begin, int64_t count) {
      const DType dtype = tensors_[index].dtype();
      void* const own = element(tensors_[index].data(), begin, dtype);
      sum({.index = part++,
           .offset = offset,
           .count = count,
           .dtype = dtype,
           .own = own,
           .target = own,
           .target_dtype = dtype});
      offset += aligned(count * size_of(dtype));
    });
    device().ops().synchronize(device().compute());
    forget();
  }

  void share() {
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      if (is_read(q, bytes_of(q))) {
        int parts = 0;
        for_each_part(tensors_, piece(q), [&](size_t, int64_t, int64_t) { ++parts; });
        receive_offers(q, parts, Phase::kGather);
      } else {
        for_each_part(tensors_, piece(q), [&](size_t index, int64_t begin, int64_t count) {
          const DType dtype = tensors_[index].dtype();
          receive_from(q, element(tensors_[index].data(), begin, dtype), count * size_of(dtype),
                       Phase::kGather);
        });
      }
      give(q, piece(rank()), is_read(q, bytes_of(rank())), Phase::kGather);
    }
  }

  bool read_sums() {
    bool answers = false;
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      if (is_read(q, bytes_of(q))) {
        size_t part = 0;
        for_each_part(tensors_, piece(q), [&](size_t index, int64_t begin, int64_t count) {
          const DType dtype = tensors_[index].dtype();
          read_offer(q, part++, element(tensors_[index].data(), begin, dtype), count * size_of(dtype));
        });
        send_answer(q, Phase::kGather);
        answers = true;
      }
      if (is_read(q, bytes_of(rank()))) {
        receive_answer(q, Phase::kGather);
        answers = true;
      }
    }
    return answers;
  }

  std::vector<Tensor> tensors_;
  int64_t total_;
  int parts_ = 0;
  int stage_ = 0;
};

class ReduceScatter final : public SummingOperation {
 public:
  ReduceScatter(const SitePtr& site, std::vector<ReduceScatterPiece> pieces, const Fingerprint& call)
      : SummingOperation(site, call), pieces_(std::move(pieces)) {}

 private:
  void post() override {
    int64_t slice = 0;
    int parts = 0;
    for (const ReduceScatterPiece& piece : pieces_) {
      if (piece.count == 0) continue;
      bytes_ += piece.count * size_of(piece.source.dtype());
      slice += aligned(piece.count * size_of(piece.source.dtype()));
      ++parts;
    }
    expect(bytes_, slice, parts, Phase::kExchange);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      int64_t offset = 0;
      for (const ReduceScatterPiece& piece : pieces_) {
        if (piece.count == 0) continue;
        const DType dtype = piece.source.dtype();
        const int64_t bytes = piece.count * size_of(dtype);
        const std::byte* const theirs = element(piece.source.data(), q * piece.stride, dtype);
        if (reads(q)) {
          add_offer(q, theirs, bytes);
        } else {
          receive_from(q, received(q, offset), bytes);
          send_to(q, theirs, bytes);
        }
        offset += aligned(bytes);
      }
      if (reads(q)) send_offers(q, Phase::kExchange);
    }
  }

  bool advance() override {
    if (std::exchange(summed_, true)) return false;
    int64_t offset = 0;
    size_t part = 0;
    for (const ReduceScatterPiece& piece : pieces_) {
      if (piece.count == 0) continue;
      const DType dtype = piece.source.dtype();
      const void* own = element(piece.source.data(), rank() * piece.stride, dtype);
      if (size() == 1 && !piece.accumulate && dtype == piece.target.dtype()) {
        copy(piece.target.data(), own, piece.count * size_of(dtype));
        continue;
      }
      sum({.index = part++,
           .offset = offset,
           .count = piece.count,
           .dtype = dtype,
           .own = own,
           .target = piece.target.data(),
           .target_dtype = piece.target.dtype(),
           .accumulate = piece.accumulate});
      offset += aligned(piece.count * size_of(dtype));
    }
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
  int64_t bytes_ = 0;  // of a rank's pieces
  bool summed_ = false;
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
