// Gathers and releases the parameters of units (stage 3), and publishes updated parameters (stages 1 and 2).
//
// Stage 3 (ZeRO, section 5.3; prefetching as in ZeRO-Infinity, section 6.2): acquire gathers a unit from its
// owners if it was not gathered ahead, then starts the gathers of the coming uses of the plan, whole units up
// to the all-gather bucket. release lets go by reshard_after_forward: ALWAYS at every release; AUTO unless
// the very next use is of the same unit; NEVER only when the step ends.
#pragma once

#include <vector>

#include "models/stores.h"
#include "parallel/communicator.h"
#include "zero/buckets.h"
#include "zero/training_state.h"

namespace octant {

class ZeroParameterStore : public ParameterStore {
 public:
  // All must outlive the store. `data` is this rank's data group.
  ZeroParameterStore(TrainingState& state, ModelStage& stage, Communicator& data);

  void plan(std::vector<UnitUse> uses) override;
  void acquire(const UnitUse& use) override;
  void release(const UnitUse& use) override;

  // The optimizer has changed the owned slices: sends them to the other ranks (stages 1, 2) or forgets what
  // is gathered (stage 3).
  void publish();
  // Completes what publish began and lets all gathered units go. Collective over the data group in the sense
  // that all must come here.
  void settle();

 private:
  struct Gathered {
    Tensor whole;
    std::vector<Work> works;
    bool present = false;
  };
  void start_gather(int unit);
  void finish_gather(int unit);
  void drop(int unit);
  void prefetch();
  bool used_next(int unit) const;

  TrainingState& state_;
  ModelStage& stage_;
  Communicator& data_;
  std::vector<Gathered> gathered_;
  std::vector<UnitUse> plan_;
  size_t next_ = 0;  // in plan_, the use after the one acquired last
  std::vector<Bucket> publish_buckets_;
  std::vector<Work> publish_works_;           // by bucket
  std::vector<std::vector<int>> publish_of_;  // unit → buckets
};

}  // namespace octant
