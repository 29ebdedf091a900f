#include "pipeline/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace octant {
namespace {

Schedule empty(ScheduleKind kind, int stages, int micro_batches) {
  if (stages < 1 || micro_batches < 1)
    throw UserError(
        fmt::format("a pipeline schedule of {} stages and {} micro-batches: both must be at least 1", stages,
                    micro_batches));
  Schedule schedule;
  schedule.kind = kind;
  schedule.stages = stages;
  schedule.micro_batches = micro_batches;
  schedule.actions.resize(static_cast<size_t>(stages));
  return schedule;
}

// Appends one stage's actions; a message goes out as soon as it exists, and comes in right before its use.
class StageWriter {
 public:
  StageWriter(int stage, int stages, std::vector<Action>& actions)
      : first_(stage == 0), last_(stage == stages - 1), actions_(actions) {}

  void forward(int micro_batch) {
    if (!first_) actions_.push_back({ActionKind::kReceiveForward, micro_batch});
    actions_.push_back({ActionKind::kForward, micro_batch});
    if (!last_) actions_.push_back({ActionKind::kSendForward, micro_batch});
  }
  void backward(int micro_batch) {
    if (!last_) actions_.push_back({ActionKind::kReceiveBackward, micro_batch});
    actions_.push_back({ActionKind::kBackward, micro_batch});
    if (!first_) actions_.push_back({ActionKind::kSendBackward, micro_batch});
  }

 private:
  bool first_;
  bool last_;
  std::vector<Action>& actions_;
};

// Forwards that a stage runs before its first backward, less the one of the first forward-backward pair.
int warm_up(ScheduleKind kind, int stage, int stages, int micro_batches) {
  if (kind == ScheduleKind::kGpipe) return micro_batches;
  return std::min(stages - stage - 1, micro_batches);
}

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGpipe:
      return "GPIPE";
    case ScheduleKind::kOneFOneB:
      return "ONE_F_ONE_B";
  }
  return "?";
}

Schedule make_schedule(ScheduleKind kind, int stages, int micro_batches) {
  Schedule schedule = empty(kind, stages, micro_batches);
  for (int stage = 0; stage < stages; ++stage) {
    StageWriter writer(stage, stages, schedule.actions[stage]);
    const int ahead = warm_up(kind, stage, stages, micro_batches);
    for (int micro_batch = 0; micro_batch < ahead; ++micro_batch) writer.forward(micro_batch);
    for (int micro_batch = ahead; micro_batch < micro_batches; ++micro_batch) {
      writer.forward(micro_batch);
      writer.backward(micro_batch - ahead);
    }
    for (int micro_batch = micro_batches - ahead; micro_batch < micro_batches; ++micro_batch)
      writer.backward(micro_batch);
  }
  return schedule;
}

Schedule make_forward_schedule(int stages, int micro_batches) {
  Schedule schedule = empty(ScheduleKind::kGpipe, stages, micro_batches);
  for (int stage = 0; stage < stages; ++stage) {
    StageWriter writer(stage, stages, schedule.actions[stage]);
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) writer.forward(micro_batch);
  }
  return schedule;
}

}  // namespace octant
