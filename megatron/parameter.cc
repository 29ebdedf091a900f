#include "megatron/parameter.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device.h"
#include "core/math/philox.h"

namespace octant {

Parameter::Parameter(ParameterSpec spec, int tensor_rank, int tensor_size) : spec_(std::move(spec)) {
  local_shape_ = spec_.global;
  box_size_ = spec_.global;
  for (int dim = 0; dim < spec_.global.dims(); ++dim) box_offset_.append(0);
  if (spec_.value.kind != PlacementKind::kShard) {
    counted_here_ = tensor_rank == 0;
    return;
  }
  const int dim = spec_.value.dim;
  const int64_t total = spec_.padded != 0 ? spec_.padded : spec_.global[dim];
  if (total % tensor_size != 0 || total < spec_.global[dim] || (spec_.padded != 0 && dim != 0))
    throw BugError(fmt::format("parameter {}: dim {} of {} (padded to {}) cannot be cut over {} tensor ranks",
                               spec_.name, dim, spec_.global.str(), total, tensor_size));
  const int64_t piece = total / tensor_size;
  local_shape_[dim] = piece;
  box_offset_[dim] = std::min(piece * tensor_rank, spec_.global[dim]);
  box_size_[dim] = std::clamp<int64_t>(spec_.global[dim] - piece * tensor_rank, 0, piece);
}

void initialize(const Parameter& parameter, uint64_t seed, Device& device, float* out) {
  const ParameterSpec& spec = parameter.spec();
  const int64_t elements = parameter.local_elements();
  if (spec.init.kind != InitKind::kNormal) {
    const int64_t real = parameter.box_elements();
    std::fill(out, out + real, spec.init.kind == InitKind::kOnes ? 1.0f : 0.0f);
    std::fill(out + real, out + elements, 0.0f);
    return;
  }
  // A shard on dim 0 is one run of the global tensor, a shard on dim 1 one run a row.
  const uint64_t key = parameter_key(seed, spec.name);
  const Shape& offset = parameter.box_offset();
  const Shape& size = parameter.box_size();
  const bool by_row = spec.global.dims() == 2 && size[1] != spec.global[1];
  const int64_t inner = spec.global.inner();
  const int64_t runs = by_row ? size[0] : 1;
  const int64_t run = by_row ? size[1] : parameter.box_elements();
  for (int64_t i = 0; i < runs; ++i) {
    const int64_t first = (offset[0] + i) * inner + (by_row ? offset[1] : 0);
    device.ops().normal_fill(device.compute(), {.n = run,
                                                .key = key,
                                                .first_index = first,
                                                .standard_deviation = spec.init.standard_deviation,
                                                .out = out + i * run});
  }
  std::fill(out + runs * run, out + elements, 0.0f);
}

}  // namespace octant
