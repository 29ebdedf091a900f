// One group of ranks and the operations between them.
//
//   Work work = data.reduce_scatter(pieces, {.purpose = "gradients"});
//   work.wait();
//
// Contract, for every transport:
//  * Collectives must be called by every rank of the group, in the same order, with matching arguments.
//    Different groups are independent: their operations may be issued and waited for in any order. A rank may
//    have any number of operations under way.
//  * Calls return at once; Work::wait blocks (work.h). Buffers must not be touched between, except that
//    inputs may be read.
//  * Sums add in rank order, floats in f32 (f64 in f64), integers exactly; the result is rounded once.
//    reduce_scatter and all_reduce therefore give the same bits for every cut into pieces, on threads and on
//    mpi.
//  * A group of one rank copies where in and out differ and sends nothing; the ledger shows calls of 0 bytes.
//  * If any rank fails, every wait in the world ends with PeerFailed naming it. With
//    debug.verify_collectives, a mismatch (operation, dtype, count, purpose) between ranks ends with BugError
//    naming both sides. With a timeout, a wait that lasts longer prints the flight recorder of every rank and
//    ends with PeerFailed.
//  * One communicator is used by its rank's thread alone. Where the rank has a progress thread (engine.h),
//    operations move on while the rank computes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ops.h"
#include "core/tensor.h"
#include "parallel/traffic_ledger.h"
#include "parallel/work.h"

namespace octant {

struct CallOptions {
  const char* purpose = "";  // a string literal; "control" for scalars that ranks agree on
};

// A piece of a reduce-scatter: over N ranks, the piece of rank r is elements [r · stride, r · stride + count)
// of `source`. target[i] (+)= sum over ranks q of source_q[me · stride + i], i < count. `target` may be this
// rank's own piece of `source`.
struct ReduceScatterPiece {
  Tensor source;  // flat, at least (N-1) · stride + count elements
  int64_t stride = 0;
  int64_t count = 0;
  Tensor target;  // flat, count elements; the source's dtype or f32
  bool accumulate = false;
};

// A piece of an all-gather: target[r · stride + i] = source_r[i], i < count. `source` may be this rank's own
// piece of `target`.
struct AllGatherPiece {
  Tensor source;  // flat, count elements
  Tensor target;  // flat, at least (N-1) · stride + count elements, the source's dtype
  int64_t stride = 0;
  int64_t count = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual const std::string& name() const = 0;  // "data", "tensor", "pipeline", "ends", "world"
  virtual int rank() const = 0;                 // this rank's place in the group
  virtual int size() const = 0;
  virtual int world_rank(int group_rank) const = 0;

  // In place, on every element of every tensor; the pieces travel together as one operation.
  virtual Work all_reduce(std::span<const Tensor> tensors, ReduceOp op, CallOptions options) = 0;
  virtual Work reduce_scatter(std::span<const ReduceScatterPiece> pieces, CallOptions options) = 0;
  virtual Work all_gather(std::span<const AllGatherPiece> pieces, CallOptions options) = 0;
  virtual Work broadcast(const Tensor& tensor, int root, CallOptions options) = 0;
  // Piece r of `input` (equal pieces of dim 0) goes to rank r; piece q of `output` comes from rank q.
  virtual Work all_to_all(const Tensor& input, const Tensor& output, CallOptions options) = 0;
  // Messages between two ranks arrive in the order in which they were sent, per tag. The send owns its buffer
  // until done.
  virtual Work send(const Tensor& tensor, int to, int tag, CallOptions options) = 0;
  virtual Work receive(const Tensor& tensor, int from, int tag, CallOptions options) = 0;
  virtual Work barrier() = 0;

  // Host scalars, blocking, always "control" traffic.
  virtual void all_reduce(std::span<double> values, ReduceOp op) = 0;
  virtual void all_reduce(std::span<int64_t> values, ReduceOp op) = 0;
  // values_of_rank r at [r · n, (r + 1) · n).
  virtual std::vector<double> all_gather(std::span<const double> values) = 0;
  // Every rank's bytes, by rank; lengths may differ.
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;

  // A new group for each color, ordered by key; every rank of this group must call.
  virtual std::unique_ptr<Communicator> split(const std::string& name, int color, int key) = 0;

  // Drives this rank's operations once without blocking, where no progress thread does.
  virtual void poll() = 0;

  Work all_reduce(const Tensor& tensor, CallOptions options) {
    return all_reduce(std::span<const Tensor>(&tensor, 1), ReduceOp::kSum, options);
  }
};

}  // namespace octant
