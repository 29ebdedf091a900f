// One micro-batch of one data rank: what the first and the last stage read, and what dropout needs.
//
// Every rank of a data coordinate holds the same micro-batch (it is read, not sent: a pure function of the
// step).
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace octant {

struct MicroBatch {
  Tensor tokens;      // (B,T) i32
  Tensor targets;     // (B,T) i32
  Tensor mask;        // (B,T) u8; 1 = the target counts in the loss
  Tensor sample_ids;  // (B) i64: index of each sequence within the global batch, the same in every layout
  int64_t step = 0;   // 0-based training step; with the sample ids it fixes the dropout masks
  bool training = true;

  int64_t batch_size() const { return tokens.shape()[0]; }
  int64_t sequence_length() const { return tokens.shape()[1]; }
  int64_t token_count() const { return tokens.elements(); }
};

// A data rank's part of one global batch.
struct Batch {
  std::vector<MicroBatch> micro_batches;
  int64_t counted_tokens = 0;  // targets under the mask on this data rank
};

}  // namespace octant
