// The typed settings of a validated job, block by block of the spec. Plain values: no field is optional,
// nothing is left to check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "pipeline/schedule.h"

namespace octant {

struct DataSource {
  enum class Kind : uint8_t { kText, kIndexed };
  Kind kind = Kind::kText;
  std::string path;         // the text file, or the prefix of a .bin/.idx pair
  std::string mask_prefix;  // indexed: the .bin/.idx pair of loss masks; empty = every token counts
  double weight = 1.0;      // relative to the other sources of the split
};

enum class OnDataError : uint8_t { kStop, kSkip };

struct DataSettings {
  std::vector<DataSource> train;
  std::vector<DataSource> validation;  // empty: `validation_fraction` is split off the training data
  double validation_fraction = 0;
  bool eod_mask_loss = false;
  OnDataError on_error = OnDataError::kStop;
};

struct ParallelSettings {
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  bool sequence_parallel = false;  // already false where tensor is 1
  ScheduleKind schedule = ScheduleKind::kOneFOneB;
  std::vector<int64_t> pipeline_layers;  // by pipeline stage; sums to num_layers
  int64_t vocab_padding_multiple = 1;

  int ranks() const { return data * tensor * pipeline; }
};

enum class ReduceEvery : uint8_t { kStep, kMicroBatch };
enum class ReshardPolicy : uint8_t { kAuto, kAlways, kNever };

struct ZeroSettings {
  int stage = 0;
  ReduceEvery reduce_every = ReduceEvery::kStep;  // AUTO is resolved
  ReshardPolicy reshard_after_forward = ReshardPolicy::kAuto;
  int64_t reduce_bucket_size = 0;     // elements; 0 = whole units, about 25 MiB
  int64_t allgather_bucket_size = 0;  // elements; 0 = whole units, about 25 MiB
  bool overlap_comm = true;
};

struct LossScaleSettings {
  bool enabled = false;  // F16 only
  double initial = 65536;
  int64_t window = 1000;
  int hysteresis = 2;
  double minimum = 1;
};

struct PrecisionSettings {
  DType compute = DType::kF32;
  DType gradients = DType::kF32;
  LossScaleSettings loss_scale;
};

struct OptimizerSettings {
  enum class Kind : uint8_t { kAdamW, kSgd };
  Kind kind = Kind::kAdamW;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip_grad_norm = 1.0;  // 0 = off
};

enum class Decay : uint8_t { kConstant, kLinear, kCosine };

struct LearningRateSettings {
  double peak = 0;  // learning_rate of the optimizer block
  double minimum = 0;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 0;  // step, counted from 0 and the warm-up included, at which `minimum` is reached
  Decay decay = Decay::kConstant;
};

struct TrainingSettings {
  int64_t steps = 0;
  int64_t eval_interval = 0;  // 0 = no evaluation
  int64_t eval_batches = 0;   // global batches; 0 = the whole split
  bool fail_at_nan = true;
};

enum class Resume : uint8_t { kAuto, kNever, kRequired };

struct CheckpointSettings {
  std::string dir;
  int64_t interval = 0;  // steps; 0 = none
  int64_t keep = 2;      // the newest so many; 0 = all
  Resume resume = Resume::kAuto;
  std::string resume_from;    // empty = the newest complete one of `dir`
  bool weights_only = false;  // load the weights alone
};

enum class ProgressThread : uint8_t { kAuto, kOn, kOff };

struct DeviceSettings {
  int threads_per_rank = 1;  // 0 = choose
  int64_t memory_limit = 0;  // bytes of each rank; 0 = no limit
  ProgressThread progress_thread = ProgressThread::kAuto;
};

enum class TransportKind : uint8_t { kAuto, kThreads, kMpi };

struct DebugSettings {
  bool verify_collectives = false;
  double collective_timeout_seconds = 600;
};

}  // namespace octant
