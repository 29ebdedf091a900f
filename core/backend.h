// A kind of device: memory, streams, and the operations of a transformer step.
//
// Adding a device is adding one folder with one implementation of this class (core/cpu is the first).
// Operations are issued on a stream; the CPU runs them at once, on the calling thread and `threads()`
// workers. A Backend object belongs to one rank and is called from that rank's thread alone; two ranks'
// backends are independent. Arguments: core/ops.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/memory_ledger.h"
#include "core/ops.h"

namespace octant {

// An order of operations on a device. Stream 0 computes; the CPU has no other.
struct Stream {
  int id = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;
  // What runs where, for the start-up table: e.g. {"vector code", "AVX3_ZEN4"}, {"matmul f16", "widened to
  // f32"}.
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;
  virtual int threads() const = 0;

  // The ledger to which operations charge the memory that they keep to work in, as kWorkspace: what is held
  // already, and what will be. Null (the default): none.
  virtual void charge_workspace_to(MemoryLedger* ledger) = 0;

  // 64-byte aligned, uninitialised. Throws MemoryError when the system refuses.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void free(void* data, int64_t bytes) = 0;
  // What an arena shall ask for at a time: as much as there can ever be where memory that is never touched
  // costs nothing, else a few of a model's largest tensors.
  virtual int64_t segment_bytes() const = 0;
  // Whether memory of a block of at least this size is zero until it is written.
  virtual bool fresh_memory_is_zero(int64_t bytes) const = 0;

  virtual void copy(Stream, void* to, const void* from, int64_t bytes) = 0;  // within the device
  virtual void copy_from_host(Stream, void* to, const void* from, int64_t bytes) = 0;
  virtual void copy_to_host(Stream, void* to, const void* from,
                            int64_t bytes) = 0;  // `to` is valid after synchronize()
  virtual void set_zero(Stream, void* data, int64_t bytes) = 0;
  virtual void synchronize(Stream) = 0;

  virtual void matmul(Stream, const MatmulArgs&) = 0;
  virtual void bias_gradient(Stream, const BiasGradientArgs&) = 0;
  virtual void norm_forward(Stream, const NormForwardArgs&) = 0;
  virtual void norm_backward(Stream, const NormBackwardArgs&) = 0;
  virtual void gelu_forward(Stream, const GeluArgs&) = 0;
  virtual void gelu_backward(Stream, const GeluArgs&) = 0;
  virtual void swiglu_forward(Stream, const SwigluArgs&) = 0;
  virtual void swiglu_backward(Stream, const SwigluArgs&) = 0;
  virtual void rotary(Stream, const RotaryArgs&) = 0;
  virtual void attention_forward(Stream, const AttentionForwardArgs&) = 0;
  virtual void attention_backward(Stream, const AttentionBackwardArgs&) = 0;
  virtual void embedding_forward(Stream, const EmbeddingForwardArgs&) = 0;
  virtual void embedding_backward(Stream, const EmbeddingBackwardArgs&) = 0;
  virtual void position_forward(Stream, const PositionForwardArgs&) = 0;
  virtual void position_backward(Stream, const PositionBackwardArgs&) = 0;
  virtual void cross_entropy_statistics(Stream, const CrossEntropyArgs&) = 0;
  virtual void cross_entropy_rescale(Stream, const CrossEntropyArgs&) = 0;
  virtual void cross_entropy_loss(Stream, const CrossEntropyArgs&) = 0;
  virtual void cross_entropy_backward(Stream, const CrossEntropyArgs&) = 0;
  virtual void dropout(Stream, const DropoutArgs&) = 0;
  virtual void add(Stream, const AddArgs&) = 0;
  virtual void cast(Stream, const CastArgs&) = 0;
  virtual void reduce(Stream, const ReduceArgs&) = 0;
  virtual void sum_squares(Stream, const SumSquaresArgs&) = 0;
  virtual void adamw(Stream, const AdamwArgs&) = 0;
  virtual void sgd(Stream, const SgdArgs&) = 0;
  virtual void normal_fill(Stream, const NormalFillArgs&) = 0;
};

}  // namespace octant
