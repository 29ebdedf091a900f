#include "parallel/threads/operations.h"

#include <utility>

#include "parallel/pieces.h"

namespace octant::threads {
namespace {

// Phase 0: sum this rank's piece from everyone's buffers, in place. Phase 1: copy the other pieces from their
// owners.
class AllReduce final : public SlotOperation {
 public:
  AllReduce(const Place& place, std::vector<Tensor> tensors, const Fingerprint& call)
      : SlotOperation(place, {.phases = 2}),
        tensors_(std::move(tensors)),
        op_(call.reduce),
        total_(total_elements(tensors_)) {
    for (const Tensor& tensor : tensors_) buffers_.push_back(tensor.data());
    publish(call);
  }

 private:
  void read(int phase, const Mover& mover) override {
    if (size() == 1) return;
    if (phase == 0) {
      std::vector<const void*> sources(static_cast<size_t>(size()));
      for_each_part(tensors_, piece_of(total_, size(), rank()),
                    [&](size_t index, int64_t begin, int64_t count) {
                      const DType dtype = tensors_[index].dtype();
                      for (int q = 0; q < size(); ++q)
                        sources[static_cast<size_t>(q)] = element(at(q).buffers[index], begin, dtype);
                      mover.ops.reduce(mover.stream, {.n = count,
                                                      .num_sources = size(),
                                                      .sources = sources.data(),
                                                      .dtype = dtype,
                                                      .out = element(buffers_[index], begin, dtype),
                                                      .out_dtype = dtype,
                                                      .op = op_});
                    });
      return;
    }
    for (int step = 1; step < size(); ++step) {
      const int owner = (rank() + step) % size();  // each rank starts at another, to spread the reads
      for_each_part(tensors_, piece_of(total_, size(), owner),
                    [&](size_t index, int64_t begin, int64_t count) {
                      const DType dtype = tensors_[index].dtype();
                      copy(mover, element(buffers_[index], begin, dtype),
                           element(at(owner).buffers[index], begin, dtype), count * size_of(dtype));
                    });
    }
  }

  std::vector<Tensor> tensors_;
  ReduceOp op_;
  int64_t total_;
};

class ReduceScatter final : public SlotOperation {
 public:
  ReduceScatter(const Place& place, std::vector<ReduceScatterPiece> pieces, const Fingerprint& call)
      : SlotOperation(place, {}), pieces_(std::move(pieces)) {
    for (const ReduceScatterPiece& piece : pieces_) buffers_.push_back(piece.source.data());
    publish(call);
  }

 private:
  void read(int, const Mover& mover) override {
    std::vector<const void*> sources(static_cast<size_t>(size()));
    for (size_t index = 0; index < pieces_.size(); ++index) {
      const ReduceScatterPiece& piece = pieces_[index];
      if (piece.count == 0) continue;
      const DType dtype = piece.source.dtype();
      for (int q = 0; q < size(); ++q)
        sources[static_cast<size_t>(q)] = element(at(q).buffers[index], rank() * piece.stride, dtype);
      void* target = piece.target.data();
      if (size() == 1 && !piece.accumulate && dtype == piece.target.dtype()) {
        copy(mover, target, sources[0], piece.count * size_of(dtype));
        continue;
      }
      mover.ops.reduce(mover.stream, {.n = piece.count,
                                      .num_sources = size(),
                                      .sources = sources.data(),
                                      .dtype = dtype,
                                      .out = target,
                                      .out_dtype = piece.target.dtype(),
                                      .accumulate = piece.accumulate});
    }
  }

  std::vector<ReduceScatterPiece> pieces_;
};

class AllGather final : public SlotOperation {
 public:
  AllGather(const Place& place, std::vector<AllGatherPiece> pieces, const Fingerprint& call)
      : SlotOperation(place, {}), pieces_(std::move(pieces)) {
    for (const AllGatherPiece& piece : pieces_) buffers_.push_back(piece.source.data());
    publish(call);
  }

 private:
  void read(int, const Mover& mover) override {
    for (size_t index = 0; index < pieces_.size(); ++index) {
      const AllGatherPiece& piece = pieces_[index];
      const DType dtype = piece.source.dtype();
      for (int step = 0; step < size(); ++step) {
        const int q = (rank() + step) % size();
        copy(mover, element(piece.target.data(), q * piece.stride, dtype), at(q).buffers[index],
             piece.count * size_of(dtype));
      }
    }
  }

  std::vector<AllGatherPiece> pieces_;
};

class Broadcast final : public SlotOperation {
 public:
  Broadcast(const Place& place, Tensor tensor, const Fingerprint& call)
      : SlotOperation(place, {.source = call.root,
                              .is_read = place.rank == call.root,
                              .starts_others = place.rank == call.root}),
        tensor_(std::move(tensor)),
        root_(call.root) {
    buffers_.push_back(tensor_.data());
    publish(call);
  }

 private:
  void read(int, const Mover& mover) override {
    copy(mover, tensor_.data(), at(root_).buffers[0], tensor_.bytes());
  }

  Tensor tensor_;
  int root_;
};

class AllToAll final : public SlotOperation {
 public:
  AllToAll(const Place& place, Tensor input, Tensor output, const Fingerprint& call)
      : SlotOperation(place, {}), input_(std::move(input)), output_(std::move(output)) {
    buffers_.push_back(input_.data());
    publish(call);
  }

 private:
  void read(int, const Mover& mover) override {
    const int64_t count = input_.elements() / size();
    const DType dtype = input_.dtype();
    for (int step = 0; step < size(); ++step) {
      const int q = (rank() + step) % size();
      copy(mover, element(output_.data(), q * count, dtype), element(at(q).buffers[0], rank() * count, dtype),
           count * size_of(dtype));
    }
  }

  Tensor input_, output_;
};

class Message final : public SlotOperation {
 public:
  Message(const Place& place, Tensor tensor, const Fingerprint& call)
      : SlotOperation(place, {.source = 0, .is_read = place.rank == 0, .starts_others = place.rank == 0}),
        tensor_(std::move(tensor)) {
    buffers_.push_back(tensor_.data());
    publish(call);
  }

 private:
  void read(int, const Mover& mover) override {
    copy(mover, tensor_.data(), at(0).buffers[0], tensor_.bytes());
  }

  Tensor tensor_;
};

class Barrier final : public SlotOperation {
 public:
  Barrier(const Place& place, const Fingerprint& call) : SlotOperation(place, {.is_read = false}) {
    publish(call);
  }

 private:
  void read(int, const Mover&) override {}
};

class Exchange final : public SlotOperation {
 public:
  Exchange(const Place& place, std::string bytes, Results results, const Fingerprint& call)
      : SlotOperation(place, {.is_read = false}), results_(std::move(results)) {
    publish(call, std::move(bytes));
  }

 private:
  void read(int, const Mover&) override {
    results_->reserve(static_cast<size_t>(size()));
    for (int q = 0; q < size(); ++q) results_->push_back(at(q).bytes);
  }

  Results results_;
};

}  // namespace

std::shared_ptr<Operation> make_all_reduce(const Place& place, std::vector<Tensor> tensors,
                                           const Fingerprint& call) {
  return std::make_shared<AllReduce>(place, std::move(tensors), call);
}
std::shared_ptr<Operation> make_reduce_scatter(const Place& place, std::vector<ReduceScatterPiece> pieces,
                                               const Fingerprint& call) {
  return std::make_shared<ReduceScatter>(place, std::move(pieces), call);
}
std::shared_ptr<Operation> make_all_gather(const Place& place, std::vector<AllGatherPiece> pieces,
                                           const Fingerprint& call) {
  return std::make_shared<AllGather>(place, std::move(pieces), call);
}
std::shared_ptr<Operation> make_broadcast(const Place& place, const Tensor& tensor, const Fingerprint& call) {
  return std::make_shared<Broadcast>(place, tensor, call);
}
std::shared_ptr<Operation> make_all_to_all(const Place& place, const Tensor& input, const Tensor& output,
                                           const Fingerprint& call) {
  return std::make_shared<AllToAll>(place, input, output, call);
}
std::shared_ptr<Operation> make_message(const Place& place, const Tensor& tensor, const Fingerprint& call) {
  return std::make_shared<Message>(place, tensor, call);
}
std::shared_ptr<Operation> make_barrier(const Place& place, const Fingerprint& call) {
  return std::make_shared<Barrier>(place, call);
}
std::shared_ptr<Operation> make_exchange(const Place& place, std::string bytes, Results results,
                                         const Fingerprint& call) {
  return std::make_shared<Exchange>(place, std::move(bytes), std::move(results), call);
}

}  // namespace octant::threads
