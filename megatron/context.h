// What every layer of one rank shares: its device, its tensor-parallel group and the choices of the run.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "parallel/communicator.h"

namespace octant {

struct LayerContext {
  Device* device = nullptr;
  Communicator* tensor = nullptr;  // the tensor axis; a group of one where tensor is 1
  bool sequence_parallel = false;  // the residual stream is cut over the tensor axis by token rows
  DType compute = DType::kF32;
  uint64_t seed = 0;
  // Bytes of f32 logits that exist at a time: large enough that a chunk's products run at the full rate, small
  // enough that logits do not decide how much memory a rank needs.
  int64_t largest_logits = int64_t{128} << 20;
  float loss_seed = 1.0f;  // gradient of the summed loss; set before each step (F16's scale)

  int tensor_size() const { return tensor->size(); }
  int tensor_rank() const { return tensor->rank(); }
  bool cut_tokens() const { return sequence_parallel && tensor->size() > 1; }
  // Token rows of the residual stream that this rank holds, of `tokens` in all, and the first of them.
  int64_t stream_rows(int64_t tokens) const { return cut_tokens() ? tokens / tensor_size() : tokens; }
  int64_t first_row(int64_t tokens) const {
    return cut_tokens() ? tokens / tensor_size() * tensor_rank() : 0;
  }

  Backend& ops() const { return device->ops(); }
  Stream stream() const { return device->compute(); }
  Tensor activation(const Shape& shape) const {
    return device->allocate(shape, compute, MemoryKind::kActivations);
  }
  Tensor activation(const Shape& shape, DType dtype) const {
    return device->allocate(shape, dtype, MemoryKind::kActivations);
  }
};

}  // namespace octant
