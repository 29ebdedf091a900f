#include "zero/optimizer.h"

#include <fmt/format.h>

#include <cmath>

namespace octant {

Optimizer::Optimizer(TrainingState& state, GradientReducer& reducer, ZeroParameterStore& store,
                     GridGroups& groups, const OptimizerConfig& config, LossScale loss_scale)
    : state_(state),
      reducer_(reducer),
      store_(store),
      groups_(groups),
      config_(config),
      loss_scale_(loss_scale),
      norms_(state.device().allocate_zeroed({state.unit_count()}, DType::kF64, MemoryKind::kWorkspace)) {}

StepResult Optimizer::step(const StepInput& input) {
  reducer_.finish();
  sum_over_tensor();
  sum_over_ends();

  StepResult result;
  const double squares = squared_norm(result.nonfinite_rank);
  if (input.counted_tokens == 0) return result;
  const double scale = 1.0 / (input.loss_seed * static_cast<double>(input.counted_tokens));
  result.gradient_norm = std::sqrt(squares) * scale;
  const bool finite = std::isfinite(squares);
  if (loss_scale_.enabled()) {
    if (!finite && loss_scale_.exhausted())
      throw DivergedError(
          fmt::format("the F16 gradients overflow at the smallest loss scale, {} "
                      "(precision.loss_scale.minimum), first on {}; "
                      "lower the learning rate or use precision.compute BF16",
                      loss_scale_.scale(), result.nonfinite_rank));
    loss_scale_.update(!finite);
    result.overflow = !finite;
  } else if (!finite && config_.fail_at_nonfinite) {
    throw DivergedError(fmt::format("the gradient norm is {}, first on {}",
                                    std::isnan(squares) ? "NaN" : "infinite", result.nonfinite_rank));
  }
  if (!finite) return result;

  double clip = 1.0;
  if (config_.clip_grad_norm > 0)
    clip = std::min(1.0, config_.clip_grad_norm / (result.gradient_norm + 1e-6));
  ++updates_;
  update(input.learning_rate, static_cast<float>(clip * scale));
  store_.publish();
  result.applied = true;
  return result;
}

// Replicated values whose gradients each tensor rank computed from its own tokens (sequence parallelism).
void Optimizer::sum_over_tensor() {
  if (groups_.tensor->size() == 1) return;
  std::vector<Tensor> partial;
  for (int index = 0; index < state_.unit_count(); ++index) {
    const FlatCut own = state_.owned(index);
    for (const FlatRange& range : state_.layouts()[static_cast<size_t>(index)].ranges) {
      if (range.parameter->spec().gradient.kind != PlacementKind::kPartial) continue;
      const FlatCut part = cut(range.begin, range.end, own.first, own.last);
      if (!part.empty()) partial.push_back(state_.gradient_range(index, part));
    }
  }
  if (!partial.empty()) groups_.tensor->all_reduce(partial, ReduceOp::kSum, {.purpose = "gradients"}).wait();
}

void Optimizer::sum_over_ends() {
  if (groups_.ends->size() == 1) return;
  for (int index = 0; index < state_.unit_count(); ++index) {
    if (!state_.layouts()[static_cast<size_t>(index)].tied_over_pipeline) continue;
    groups_.ends->all_reduce(state_.gradient_range(index, state_.owned(index)), {.purpose = "gradients"})
        .wait();
  }
}

double Optimizer::squared_norm(std::string& nonfinite_rank) {
  Backend& ops = state_.device().ops();
  const Stream stream = state_.device().compute();
  ops.set_zero(stream, norms_.data(), norms_.bytes());
  for (int index = 0; index < state_.unit_count(); ++index) {
    const FlatUnit& layout = state_.layouts()[static_cast<size_t>(index)];
    if (layout.tied_over_pipeline && groups_.at.pipeline != 0) continue;
    const FlatCut slice = state_.slice(index);
    for (const FlatRange& range : layout.ranges) {
      if (!range.parameter->counted_here()) continue;
      const FlatCut part = cut(range.begin, range.end, slice.first, slice.last);
      if (part.empty()) continue;
      const Tensor gradient = state_.gradient_range(index, part);
      ops.sum_squares(stream, {.n = part.count(),
                               .x = gradient.data(),
                               .dtype = gradient.dtype(),
                               .out = norms_.as<double>() + index});
    }
  }
  std::vector<double> mine(static_cast<size_t>(state_.unit_count()));
  ops.copy_to_host(stream, mine.data(), norms_.data(), norms_.bytes());
  ops.synchronize(stream);

  // Slice by slice: unit, then data rank; then the model's own cuts in rank order. The same additions at
  // every stage.
  const std::vector<double> by_rank = groups_.data->all_gather(mine);
  double total = 0;
  double first_bad = -1;
  for (size_t unit = 0; unit < mine.size(); ++unit)
    for (int rank = 0; rank < groups_.data->size(); ++rank) {
      const double part = by_rank[static_cast<size_t>(rank) * mine.size() + unit];
      total += part;
      if (!std::isfinite(part) && first_bad < 0)
        first_bad =
            groups_.grid.rank({.data = rank, .tensor = groups_.at.tensor, .pipeline = groups_.at.pipeline});
    }
  for (Communicator* group : {groups_.tensor.get(), groups_.pipeline.get()}) {
    const double values[2] = {total, first_bad};
    const std::vector<double> all = group->all_gather(values);
    total = 0;
    first_bad = -1;
    for (int rank = 0; rank < group->size(); ++rank) {
      total += all[2 * static_cast<size_t>(rank)];
      if (first_bad < 0) first_bad = all[2 * static_cast<size_t>(rank) + 1];
    }
  }
  if (first_bad >= 0) {
    const int rank = static_cast<int>(first_bad);
    const Coordinates at = groups_.grid.coordinates(rank);
    nonfinite_rank =
        fmt::format("rank {} (data {}, tensor {}, pipeline {})", rank, at.data, at.tensor, at.pipeline);
  }
  return total;
}

void Optimizer::update(double learning_rate, float gradient_scale) {
  Backend& ops = state_.device().ops();
  const Stream stream = state_.device().compute();
  const ZeroConfig& zero = state_.config();
  const float bias1 =
      static_cast<float>(1.0 - std::pow(static_cast<double>(config_.beta1), static_cast<double>(updates_)));
  const float bias2 =
      static_cast<float>(1.0 - std::pow(static_cast<double>(config_.beta2), static_cast<double>(updates_)));
  for (int index = 0; index < state_.unit_count(); ++index) {
    UnitState& unit = state_.unit(index);
    const FlatCut own = state_.owned(index);
    const int64_t parameters_base = zero.stage == 3 ? own.first : 0;
    for (const FlatRange& range : state_.layouts()[static_cast<size_t>(index)].ranges) {
      const FlatCut part = cut(range.begin, range.end, own.first, own.last);
      if (part.empty()) continue;
      const int64_t at = part.first - own.first;
      const Tensor gradient = state_.gradient_range(index, part);
      const float decay = range.parameter->spec().matrix() ? config_.weight_decay : 0.0f;
      void* parameters = zero.compute == DType::kF32
                             ? nullptr
                             : unit.parameters.flat(part.first - parameters_base, part.count()).data();
      if (config_.kind == OptimizerKind::kAdamw) {
        ops.adamw(stream, {.n = part.count(),
                           .master = unit.master.as<float>() + at,
                           .gradient = gradient.data(),
                           .gradient_dtype = gradient.dtype(),
                           .gradient_scale = gradient_scale,
                           .exp_avg = unit.exp_avg.as<float>() + at,
                           .exp_avg_sq = unit.exp_avg_sq.as<float>() + at,
                           .parameters = parameters,
                           .parameters_dtype = zero.compute,
                           .learning_rate = static_cast<float>(learning_rate),
                           .beta1 = config_.beta1,
                           .beta2 = config_.beta2,
                           .epsilon = config_.epsilon,
                           .weight_decay = decay,
                           .bias_correction1 = bias1,
                           .bias_correction2 = bias2});
      } else {
        ops.sgd(stream, {.n = part.count(),
                         .master = unit.master.as<float>() + at,
                         .gradient = gradient.data(),
                         .gradient_dtype = gradient.dtype(),
                         .gradient_scale = gradient_scale,
                         .parameters = parameters,
                         .parameters_dtype = zero.compute,
                         .learning_rate = static_cast<float>(learning_rate),
                         .weight_decay = decay});
      }
    }
  }
}

}  // namespace octant
