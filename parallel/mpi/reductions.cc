// The operations that sum. What the peers send goes into memory of its own (MemoryKind::kCommunication); when
// all is there, the sources are added in rank order, this rank's own among them, with one rounding.
#include <utility>

#include "parallel/mpi/operations.h"
#include "parallel/pieces.h"

namespace octant::mpi {
namespace {

constexpr int64_t aligned(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

class AllReduce final : public MpiOperation {
 public:
  AllReduce(const SitePtr& site, std::vector<Tensor> tensors, const Fingerprint& call)
      : MpiOperation(site, call), tensors_(std::move(tensors)), total_(total_elements(tensors_)) {}

 private:
  Range piece(int owner) const { return piece_of(total_, size(), owner); }

  void post() override {
    if (size() == 1) return;
    for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t, int64_t count) {
      slice_bytes_ += aligned(count * size_of(tensors_[index].dtype()));
    });
    if (slice_bytes_ > 0)
      received_ = device().allocate({(size() - 1) * slice_bytes_}, DType::kU8, MemoryKind::kCommunication);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      int64_t offset = (step - 1) * slice_bytes_;
      for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t, int64_t count) {
        const int64_t bytes = count * size_of(tensors_[index].dtype());
        receive_from(q, element(received_.data(), offset, DType::kU8), bytes);
        offset += aligned(bytes);
      });
      for_each_part(tensors_, piece(q), [&](size_t index, int64_t begin, int64_t count) {
        const DType dtype = tensors_[index].dtype();
        send_to(q, element(tensors_[index].data(), begin, dtype), count * size_of(dtype));
      });
    }
  }

  bool advance() override {
    if (gathering_ || size() == 1) return false;
    gathering_ = true;
    sum();
    received_.reset();
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      for_each_part(tensors_, piece(q), [&](size_t index, int64_t begin, int64_t count) {
        const DType dtype = tensors_[index].dtype();
        receive_from(q, element(tensors_[index].data(), begin, dtype), count * size_of(dtype),
                     Phase::kGather);
      });
      for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t begin, int64_t count) {
        const DType dtype = tensors_[index].dtype();
        send_to(q, element(tensors_[index].data(), begin, dtype), count * size_of(dtype), Phase::kGather);
      });
    }
    return true;
  }

  void sum() {
    std::vector<const void*> sources(static_cast<size_t>(size()));
    int64_t offset = 0;
    for_each_part(tensors_, piece(rank()), [&](size_t index, int64_t begin, int64_t count) {
      const DType dtype = tensors_[index].dtype();
      void* own = element(tensors_[index].data(), begin, dtype);
      sources[static_cast<size_t>(rank())] = own;
      for (int step = 1; step < size(); ++step)
        sources[static_cast<size_t>(peer(step))] =
            element(received_.data(), (step - 1) * slice_bytes_ + offset, DType::kU8);
      device().ops().reduce(device().compute(), {.n = count,
                                                 .num_sources = size(),
                                                 .sources = sources.data(),
                                                 .dtype = dtype,
                                                 .out = own,
                                                 .out_dtype = dtype,
                                                 .op = call().reduce});
      offset += aligned(count * size_of(dtype));
    });
    device().ops().synchronize(device().compute());
  }

  std::vector<Tensor> tensors_;
  int64_t total_;
  int64_t slice_bytes_ = 0;  // of one peer in received_
  Tensor received_;
  bool gathering_ = false;
};

class ReduceScatter final : public MpiOperation {
 public:
  ReduceScatter(const SitePtr& site, std::vector<ReduceScatterPiece> pieces, const Fingerprint& call)
      : MpiOperation(site, call), pieces_(std::move(pieces)) {}

 private:
  void post() override {
    for (const ReduceScatterPiece& piece : pieces_)
      slice_bytes_ += aligned(piece.count * size_of(piece.source.dtype()));
    if (size() > 1 && slice_bytes_ > 0)
      received_ = device().allocate({(size() - 1) * slice_bytes_}, DType::kU8, MemoryKind::kCommunication);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      int64_t offset = (step - 1) * slice_bytes_;
      for (const ReduceScatterPiece& piece : pieces_) {
        const DType dtype = piece.source.dtype();
        const int64_t bytes = piece.count * size_of(dtype);
        receive_from(q, element(received_.data(), offset, DType::kU8), bytes);
        send_to(q, element(piece.source.data(), q * piece.stride, dtype), bytes);
        offset += aligned(bytes);
      }
    }
  }

  bool advance() override {
    std::vector<const void*> sources(static_cast<size_t>(size()));
    int64_t offset = 0;
    for (const ReduceScatterPiece& piece : pieces_) {
      if (piece.count == 0) continue;
      const DType dtype = piece.source.dtype();
      const void* own = element(piece.source.data(), rank() * piece.stride, dtype);
      sources[static_cast<size_t>(rank())] = own;
      for (int step = 1; step < size(); ++step)
        sources[static_cast<size_t>(peer(step))] =
            element(received_.data(), (step - 1) * slice_bytes_ + offset, DType::kU8);
      offset += aligned(piece.count * size_of(dtype));
      if (size() == 1 && !piece.accumulate && dtype == piece.target.dtype()) {
        copy(piece.target.data(), own, piece.count * size_of(dtype));
        continue;
      }
      device().ops().reduce(device().compute(), {.n = piece.count,
                                                 .num_sources = size(),
                                                 .sources = sources.data(),
                                                 .dtype = dtype,
                                                 .out = piece.target.data(),
                                                 .out_dtype = piece.target.dtype(),
                                                 .accumulate = piece.accumulate});
    }
    return false;
  }

  std::vector<ReduceScatterPiece> pieces_;
  int64_t slice_bytes_ = 0;
  Tensor received_;
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
