// How the training state is partitioned over the data axis, and in which types it is kept.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace octant {

enum class ReduceCadence : uint8_t { kStep, kMicroBatch };
enum class ReshardAfterForward : uint8_t { kAlways, kNever, kAuto };

struct ZeroConfig {
  int stage = 0;  // 0…3 (Rajbhandari 2020): 1 shards optimizer and master weights, 2 also gradients, 3 also
                  // parameters
  ReduceCadence reduce_every = ReduceCadence::kStep;
  ReshardAfterForward reshard = ReshardAfterForward::kAuto;
  int64_t reduce_bucket = 0;     // elements; 0 = whole units up to about 25 MiB
  int64_t allgather_bucket = 0;  // elements; 0 likewise
  bool overlap = true;           // issue collectives early and wait late
  DType compute = DType::kF32;
  DType gradients = DType::kF32;
};

enum class OptimizerKind : uint8_t { kAdamw, kSgd };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdamw;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  float weight_decay = 0.0f;      // matrices only
  double clip_grad_norm = 0.0;    // 0 = off
  bool fail_at_nonfinite = true;  // else a non-finite step is skipped and counted
};

struct LossScaleConfig {
  double initial = 65536;
  int64_t window = 1000;
  int64_t hysteresis = 2;
  double minimum = 1;
};

}  // namespace octant
