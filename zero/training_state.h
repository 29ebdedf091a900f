// The training state of one rank: parameters, master weights, moments and gradients of its units, each whole
// or as the owned slice.
//
//   bytes per parameter with 16-bit parameters and gradients, N data ranks (ZeRO, section 3.1 and table 1):
//     stage 0: 2 + 2 + 12 · stage 1: 2 + 2 + 12/N · stage 2: 2 + (2 + 12)/N · stage 3: (2 + 2 + 12)/N
//
// In F32 the master weights are the parameters themselves. Memory is charged to the ledger by kind; what is
// gathered or on its way to its owner for a while is `communication` and belongs to the parameter store and
// the gradient reducer.
#pragma once

#include <string>
#include <vector>

#include "core/device.h"
#include "zero/config.h"
#include "zero/flat_unit.h"

namespace octant {

struct UnitState {
  Tensor parameters;  // compute dtype: whole, or the slice at stage 3
  Tensor master;      // f32, the owned range; a view of `parameters` in F32
  Tensor exp_avg;     // f32, the owned range; undefined for SGD
  Tensor exp_avg_sq;
  Tensor gradients;  // gradient dtype: whole, or the slice (whole_gradients())
};

// A run of one logical parameter within this rank's state, for checkpoints: elements [begin, end) of the
// row-major order of the box.
struct StatePiece {
  std::string name;
  Shape global;
  Shape box_offset, box_size;
  int64_t begin = 0, end = 0;
  float* weight = nullptr;
  float* exp_avg = nullptr;  // null for SGD
  float* exp_avg_sq = nullptr;
};

class TrainingState {
 public:
  // What this state is for: evaluation and generation need neither gradients nor moments.
  struct Needs {
    bool gradients = true;
    bool moments = true;  // AdamW
  };
  // Allocates everything. The stage's parameters get their `value` (stages 0-2) and, where gradients are
  // whole, `gradient` views here.
  TrainingState(Device& device, const ModelStage& stage, const ZeroConfig& config, Needs needs, int data_rank,
                int data_size);

  // First values: a pure function of (seed, parameter name, global element index). Every rank of the data
  // group computes its own.
  void initialize(uint64_t seed);

  const ZeroConfig& config() const { return config_; }
  int data_rank() const { return data_rank_; }
  int data_size() const { return data_size_; }
  Device& device() const { return device_; }
  const std::vector<FlatUnit>& layouts() const { return layouts_; }
  UnitState& unit(int index) { return units_[static_cast<size_t>(index)]; }
  int unit_count() const { return static_cast<int>(layouts_.size()); }

  // Gradients are kept whole on every rank: reduce_every STEP accumulates locally first, and stage 0 owns
  // everything.
  bool whole_gradients() const {
    return config_.reduce_every == ReduceCadence::kStep || config_.stage == 0 || data_size_ == 1;
  }
  // The range of unit `index` whose optimizer state this rank holds, and the slice that it would own at any
  // stage.
  FlatCut owned(int index) const;
  FlatCut slice(int index) const;
  // The gradients of [first, last) in flat coordinates; the range must lie in what this rank keeps after
  // reduction.
  Tensor gradient_range(int index, FlatCut range) const;

  // Parameters from master weights on the owned range (a cast; nothing in F32).
  void parameters_from_master(int index);

  // What this rank must load (all it owns) and what it must write (its slice of what it is the one to count).
  std::vector<StatePiece> pieces_to_load() const;
  std::vector<StatePiece> pieces_to_write(bool first_pipeline_stage) const;

  // Binds parameter values or gradients of a unit to a whole flat buffer.
  void bind_values(int index, const Tensor& whole);
  void bind_gradients(int index, const Tensor& whole);

 private:
  std::vector<StatePiece> pieces(int index, FlatCut range) const;

  Device& device_;
  ZeroConfig config_;
  int data_rank_;
  int data_size_;
  std::vector<FlatUnit> layouts_;
  std::vector<UnitState> units_;
};

}  // namespace octant
