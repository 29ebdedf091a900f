// Collects the gradients of units and brings their sums over the data axis to their owners.
//
// reduce_every STEP: backward accumulates into the whole gradient buffers; after the last micro-batch each
// bucket is reduced once. MICRO_BATCH: backward writes a unit's gradients into a passing buffer
// (`communication`), which is reduced after every micro-batch and added to the owned slice in f32 (whole
// buffers at stage 0). A bucket leaves when its last unit is ready, under the backward of the next; with
// overlap off it is waited for at once. Sums are in rank order: the same bits at every stage
// (docs/parity.md).
#pragma once

#include <vector>

#include "models/stores.h"
#include "parallel/communicator.h"
#include "zero/buckets.h"
#include "zero/training_state.h"

namespace octant {

class GradientReducer : public GradientSink {
 public:
  // All must outlive the reducer. `data` is this rank's data group.
  GradientReducer(TrainingState& state, ModelStage& stage, Communicator& data);

  // Fresh accumulators for a new step.
  void begin_step();
  void prepare(int unit) override;
  void ready(int unit, bool last) override;
  // Completes every reduction of the step: on return each rank holds the sums of what it keeps.
  void finish();

 private:
  struct BucketState {
    Bucket bucket;
    int units = 0;      // distinct parameter units
    int waiting = 0;    // of them, not ready yet
    bool first = true;  // nothing of this step has arrived: sums overwrite what their targets hold
    Work work;
    bool under_way = false;
  };
  // A unit's gradients of one micro-batch, from its first backward site until the last of its buckets has
  // arrived.
  struct Passing {
    Tensor buffer;
    bool filling = false;  // its sites are still running
    int pending = 0;       // buckets that carry a piece of it and have not arrived
  };
  // Nothing has been contributed to the gradients of parameter unit `index` yet.
  void mark_fresh(int index);
  // Zeros where nothing was contributed.
  void clear_untouched(int index);
  // Gradients pass through a buffer of their own rather than being accumulated in place.
  bool passing() const;
  void parameter_unit_ready(int unit);
  void launch(BucketState& bucket);
  void complete(BucketState& bucket);
  // Stage 0 under MICRO_BATCH: adds a bucket piece's sums to the whole gradients, or overwrites them.
  void add_to_whole(const BucketPiece& at, const Tensor& sums, bool accumulate);

  TrainingState& state_;
  ModelStage& stage_;
  Communicator& data_;
  std::vector<int>
      last_site_;  // parameter unit → the unit whose backward uses it last (the first in forward order)
  std::vector<BucketState> buckets_;
  std::vector<std::vector<int>> buckets_of_;  // parameter unit → buckets
  std::vector<Passing> passing_;              // by parameter unit
};

}  // namespace octant
