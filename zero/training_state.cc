#include "zero/training_state.h"

namespace octant {

TrainingState::TrainingState(Device& device, const ModelStage& stage, const ZeroConfig& config, Needs needs,
                             int data_rank, int data_size)
    : device_(device), config_(config), data_rank_(data_rank), data_size_(data_size) {
  for (const ParameterUnit& unit : stage.parameter_units()) layouts_.emplace_back(unit, data_size);
  units_.resize(layouts_.size());
  for (int index = 0; index < unit_count(); ++index) {
    UnitState& state = unit(index);
    const FlatUnit& layout = layouts_[static_cast<size_t>(index)];
    const FlatCut own = owned(index);
    state.parameters = device.allocate_zeroed({config.stage == 3 ? layout.slice : layout.padded},
                                              config.compute, MemoryKind::kParameters);
    if (config.compute == DType::kF32) {
      state.master = config.stage == 3 ? state.parameters : state.parameters.flat(own.first, own.count());
    } else {
      state.master = device.allocate_zeroed({own.count()}, DType::kF32, MemoryKind::kMasterWeights);
    }
    if (needs.moments) {
      state.exp_avg = device.allocate_zeroed({own.count()}, DType::kF32, MemoryKind::kOptimizer);
      state.exp_avg_sq = device.allocate_zeroed({own.count()}, DType::kF32, MemoryKind::kOptimizer);
    }
    if (needs.gradients)
      state.gradients = device.allocate_zeroed({whole_gradients() ? layout.padded : layout.slice},
                                               config.gradients, MemoryKind::kGradients);
    if (config.stage < 3) bind_values(index, state.parameters);
    if (whole_gradients() && needs.gradients) bind_gradients(index, state.gradients);
  }
}

void TrainingState::initialize(uint64_t seed) {
  for (int index = 0; index < unit_count(); ++index) {
    UnitState& state = unit(index);
    const FlatUnit& layout = layouts_[static_cast<size_t>(index)];
    const FlatCut own = owned(index);
    // Where this rank holds all of a unit in f32, its weights are made where they stay.
    const bool in_parameters = config_.compute == DType::kF32 && config_.stage < 3;
    const bool in_master = !in_parameters && own.count() == layout.padded;
    const Tensor whole = in_parameters ? state.parameters
                         : in_master
                             ? state.master
                             : device_.allocate_zeroed({layout.padded}, DType::kF32, MemoryKind::kWorkspace);
    for (const FlatRange& range : layout.ranges)
      octant::initialize(*range.parameter, seed, device_, whole.as<float>() + range.begin);
    if (in_parameters) continue;
    const Stream stream = device_.compute();
    if (!in_master)
      device_.ops().copy(stream, state.master.data(), whole.as<float>() + own.first,
                         own.count() * size_of(DType::kF32));
    if (config_.compute == DType::kF32) continue;
    const int64_t first = config_.stage == 3 ? own.first : 0;
    device_.ops().cast(stream, {.n = state.parameters.elements(),
                                .in = whole.as<float>() + first,
                                .in_dtype = DType::kF32,
                                .out = state.parameters.data(),
                                .out_dtype = config_.compute});
  }
}

FlatCut TrainingState::slice(int index) const {
  const FlatUnit& layout = layouts_[static_cast<size_t>(index)];
  return {layout.slice * data_rank_, layout.slice * (data_rank_ + 1)};
}

FlatCut TrainingState::owned(int index) const {
  return config_.stage == 0 ? FlatCut{0, layouts_[static_cast<size_t>(index)].padded} : slice(index);
}

Tensor TrainingState::gradient_range(int index, FlatCut range) const {
  const UnitState& state = units_[static_cast<size_t>(index)];
  const int64_t base = whole_gradients() ? 0 : slice(index).first;
  return state.gradients.flat(range.first - base, range.count());
}

void TrainingState::parameters_from_master(int index) {
  if (config_.compute == DType::kF32) return;
  UnitState& state = unit(index);
  const FlatCut own = owned(index);
  const int64_t base = config_.stage == 3 ? own.first : 0;
  device_.ops().cast(device_.compute(), {.n = own.count(),
                                         .in = state.master.data(),
                                         .in_dtype = DType::kF32,
                                         .out = state.parameters.flat(own.first - base, own.count()).data(),
                                         .out_dtype = config_.compute});
}

void TrainingState::bind_values(int index, const Tensor& whole) {
  for (const FlatRange& range : layouts_[static_cast<size_t>(index)].ranges)
    range.parameter->value =
        whole.defined()
            ? whole.flat(range.begin, range.end - range.begin).view(range.parameter->local_shape())
            : Tensor();
}

void TrainingState::bind_gradients(int index, const Tensor& whole) {
  for (const FlatRange& range : layouts_[static_cast<size_t>(index)].ranges)
    range.parameter->gradient =
        whole.defined()
            ? whole.flat(range.begin, range.end - range.begin).view(range.parameter->local_shape())
            : Tensor();
}

std::vector<StatePiece> TrainingState::pieces(int index, FlatCut range) const {
  std::vector<StatePiece> result;
  const UnitState& state = units_[static_cast<size_t>(index)];
  const int64_t base = owned(index).first;
  for (const FlatRange& at : layouts_[static_cast<size_t>(index)].ranges) {
    const Parameter& parameter = *at.parameter;
    const FlatCut part = cut(at.begin, at.begin + parameter.box_elements(), range.first, range.last);
    if (part.empty()) continue;
    const auto pointer = [&](const Tensor& tensor) {
      return tensor.defined() ? tensor.as<float>() + (part.first - base) : nullptr;
    };
    result.push_back({.name = parameter.name(),
                      .global = parameter.spec().global,
                      .box_offset = parameter.box_offset(),
                      .box_size = parameter.box_size(),
                      .begin = part.first - at.begin,
                      .end = part.last - at.begin,
                      .weight = pointer(state.master),
                      .exp_avg = pointer(state.exp_avg),
                      .exp_avg_sq = pointer(state.exp_avg_sq)});
  }
  return result;
}

std::vector<StatePiece> TrainingState::pieces_to_load() const {
  std::vector<StatePiece> result;
  for (int index = 0; index < unit_count(); ++index)
    for (StatePiece& piece : pieces(index, owned(index))) result.push_back(std::move(piece));
  return result;
}

std::vector<StatePiece> TrainingState::pieces_to_write(bool first_pipeline_stage) const {
  std::vector<StatePiece> result;
  for (int index = 0; index < unit_count(); ++index) {
    const FlatUnit& layout = layouts_[static_cast<size_t>(index)];
    if (layout.tied_over_pipeline && !first_pipeline_stage) continue;
    for (StatePiece& piece : pieces(index, slice(index))) {
      bool mine = false;
      for (const FlatRange& range : layout.ranges)
        if (range.parameter->name() == piece.name) mine = range.parameter->counted_here();
      if (mine) result.push_back(std::move(piece));
    }
  }
  return result;
}

}  // namespace octant
