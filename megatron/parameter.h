// A logical parameter and how this rank holds it.
//
// The specification is free of any run: a name, a global shape, a placement on the tensor axis and a rule for
// its first values. From the placement alone follow the local slice, the reduction of its gradient, its share
// of the gradient norm, what a checkpoint says of it. Layer authors set nothing else. Storage is bound by
// zero/ (views into a unit's flat buffer); fused storage (query+key+value, gate+up) is nothing but parameters
// that lie next to each other in their unit, in the order in which they were added.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/tensor.h"

namespace octant {

enum class PlacementKind : uint8_t { kReplicated, kShard, kPartial };

struct Placement {
  PlacementKind kind = PlacementKind::kReplicated;
  int dim = 0;  // of kShard
  bool operator==(const Placement&) const = default;
};
inline constexpr Placement kReplicated{PlacementKind::kReplicated, 0};
inline constexpr Placement kPartial{PlacementKind::kPartial, 0};
constexpr Placement shard(int dim) {
  return {PlacementKind::kShard, dim};
}

enum class InitKind : uint8_t { kNormal, kOnes, kZeros };
struct Init {
  InitKind kind = InitKind::kZeros;
  float standard_deviation = 0.0f;
};

struct ParameterSpec {
  std::string name;  // logical: "layers.3.attention.query.weight"
  Shape global;      // unpadded
  Placement value;   // on the tensor axis: replicated or a shard
  // On the tensor axis: what each rank's gradient is before the tensor-axis sum. A shard's is a shard; a
  // replicated value's is replicated (every rank computes all of it) or partial (each computes from its own
  // tokens, under sequence parallelism).
  Placement gradient;
  int64_t padded = 0;  // the sharded dim's size in this run, a multiple of the tensor size; 0 = not padded
  Init init;
  bool matrix() const { return global.dims() > 1; }  // weight decay applies
};

// A parameter as one tensor rank holds it.
class Parameter {
 public:
  Parameter(ParameterSpec spec, int tensor_rank, int tensor_size);

  const ParameterSpec& spec() const { return spec_; }
  const std::string& name() const { return spec_.name; }

  // Storage shape here, padding included.
  const Shape& local_shape() const { return local_shape_; }
  int64_t local_elements() const { return local_shape_.elements(); }
  // The box of the global tensor that the storage's unpadded part holds. Padding, if any, lies behind it
  // along dim 0.
  const Shape& box_offset() const { return box_offset_; }
  const Shape& box_size() const { return box_size_; }
  int64_t box_elements() const { return box_size_.elements(); }
  // True on the one tensor rank that counts this value in the norm and writes it to a checkpoint.
  bool counted_here() const { return counted_here_; }

  // Views of the unit's buffers while it is acquired; set by zero/.
  Tensor value;
  Tensor gradient;
  // Set by zero/: `gradient` holds nothing yet, and the first to contribute overwrites it.
  bool gradient_is_fresh = false;

  // Whether a contribution that is written now adds to what `gradient` holds.
  bool accumulates() { return !std::exchange(gradient_is_fresh, false); }

 private:
  ParameterSpec spec_;
  Shape local_shape_;
  Shape box_offset_;
  Shape box_size_;
  bool counted_here_ = true;
};

// Writes this parameter's first values, f32, in storage order; padding is zero. A pure function of (seed,
// name, global index).
class Device;
void initialize(const Parameter& parameter, uint64_t seed, Device& device, float* out);

}  // namespace octant
