// The second half of verify(): plays all stages against one another. Internal to pipeline/.
//
// A send blocks until the receiver has posted the matching receive. A stage has one receive posted for each
// direction: the first from the start, the next from the moment at which the RECV action before it has
// completed. The order of the actions alone decides what happens (no stage ever chooses), so one sweep after
// another over the stages finds the one possible course.
#pragma once

#include "pipeline/schedule.h"

namespace octant {

bool is_forward_only(const Schedule& schedule);

// The piece of the model that chunk `chunk` of `stage` is, counted along the model; pieces are dealt to the
// stages in turn.
inline int piece_of(const Schedule& schedule, int stage, int chunk) {
  return chunk * schedule.stages + stage;
}
inline int pieces_of(const Schedule& schedule) {
  return schedule.chunks * schedule.stages;
}

// Expects lists that the checks of schedule_verify.cc have passed. Throws BugError on mismatched messages and
// on deadlock.
ScheduleReport play(const Schedule& schedule, const ActionCosts& costs);

}  // namespace octant
