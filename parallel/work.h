// An operation under way between ranks. It owns its buffers (as Tensors) until it is done.
//
//   Work work = group.all_reduce(x);
//   … compute that does not touch x …
//   work.wait();                       // throws what went wrong: PeerFailed, or BugError from the verifier
//
// `wait` blocks this rank's thread until the operation is complete here: outputs are written and inputs may
// be reused. While it waits it drives every operation that this rank has under way, so ranks may wait in
// different orders. A Work that is destroyed unwaited is waited for first, unless the world has failed. A
// default-made Work is done.
#pragma once

#include <memory>

namespace octant {

class Operation;  // parallel/operation.h

class Work {
 public:
  Work() = default;
  explicit Work(std::shared_ptr<Operation> operation);
  Work(Work&&) noexcept;
  Work& operator=(Work&&) noexcept;
  ~Work();

  // Idempotent.
  void wait();
  // Drives this rank's operations once without blocking, where no progress thread does.
  bool done();

 private:
  std::shared_ptr<Operation> operation_;
};

}  // namespace octant
