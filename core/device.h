// One rank's device: a backend, its memory ledger, and the allocator that turns bytes into tensors.
//
//   Device device(cpu::make_backend({.threads = 1}), /*memory_limit=*/0);
//   Tensor x = device.allocate({M, C}, DType::kF32, MemoryKind::kActivations);
//
// Memory that a dead tensor gives back is kept in an arena (core/arena.h) and reused, so a training step in its
// steady state asks the system for nothing; the ledger counts what tensors hold. Used by one rank's thread alone.
// The device must outlive its tensors.
#pragma once

#include <memory>

#include "core/backend.h"
#include "core/memory_ledger.h"
#include "core/tensor.h"

namespace octant {

class Device {
 public:
  // `memory_limit` in bytes, 0 = none. `carrier`: for the thread that moves bytes between ranks while this
  // rank computes (parallel/engine.h); null: there is none.
  Device(std::unique_ptr<Backend> backend, int64_t memory_limit, std::unique_ptr<Backend> carrier = nullptr);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Backend& ops() { return *backend_; }
  Backend* carrier() { return carrier_.get(); }
  Stream compute() const { return Stream{0}; }
  MemoryLedger& ledger() { return ledger_; }
  const MemoryLedger& ledger() const { return ledger_; }

  // Uninitialised. Throws MemoryError past the budget.
  Tensor allocate(const Shape& shape, DType dtype, MemoryKind kind);
  Tensor allocate_zeroed(const Shape& shape, DType dtype, MemoryKind kind);

  // What the arena may hold of the system's memory: it rises to what a step needs at most and stays there.
  int64_t arena_bytes() const;

 private:
  Tensor allocate(const Shape& shape, DType dtype, MemoryKind kind, bool zeroed);

  class Pool;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Backend> carrier_;
  MemoryLedger ledger_;
  std::shared_ptr<Pool> pool_;
};

}  // namespace octant
