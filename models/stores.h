// The two interfaces between the pipeline, which runs units, and zero, which owns their parameters and
// gradients. Declared here, beside the unit; implemented in zero/; called in pipeline/. Neither of those
// rooms knows the other.
//
// All ranks of the data group must call in the same order: gathers and reductions are collective over the
// data axis.
#pragma once

#include <vector>

namespace octant {

// One coming use of a unit's parameters, in the order in which the executor will run them.
struct UnitUse {
  int unit = 0;  // index into ModelStage::units()
  bool backward = false;
};

class ParameterStore {
 public:
  virtual ~ParameterStore() = default;
  // Announces the uses of the coming run of a schedule, so that the next units can be gathered ahead.
  virtual void plan(std::vector<UnitUse> uses) = 0;
  // The next use of the plan begins: its parameters' `value` views are bound and complete on return.
  virtual void acquire(const UnitUse& use) = 0;
  // That use has ended; the store may let the gathered values go (reshard_after_forward).
  virtual void release(const UnitUse& use) = 0;
};

class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // A backward of `unit` begins: its parameters' `gradient` views are bound and hold what has been
  // accumulated so far.
  virtual void prepare(int unit) = 0;
  // The gradients of `unit` from this micro-batch are complete; `last` marks the step's last micro-batch. A
  // reduction may start.
  virtual void ready(int unit, bool last) = 0;
};

}  // namespace octant
