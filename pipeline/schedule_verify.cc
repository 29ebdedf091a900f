#include <fmt/format.h>

#include "core/error.h"
#include "pipeline/schedule.h"
#include "pipeline/schedule_timeline.h"

namespace octant {
namespace {

// Walks one stage's list and checks everything that this stage alone decides.
class StageCheck {
 public:
  StageCheck(const Schedule& schedule, int stage, bool forward_only)
      : schedule_(schedule), stage_(stage), forward_only_(forward_only), next_forward_(schedule.chunks, 0) {
    next_backward_ = next_forward_;
    done_.resize(static_cast<size_t>(schedule.chunks * schedule.micro_batches));
  }

  void run() {
    const auto& actions = schedule_.actions[stage_];
    for (size_t position = 0; position < actions.size(); ++position) {
      position_ = position;
      check(actions[position]);
    }
    for (int chunk = 0; chunk < schedule_.chunks; ++chunk)
      for (int micro_batch = 0; micro_batch < schedule_.micro_batches; ++micro_batch)
        check_complete(chunk, micro_batch);
  }

 private:
  // Which actions of one chunk and micro-batch have been met, by ActionKind.
  struct Done {
    bool met[6] = {};
    bool& operator[](ActionKind kind) { return met[static_cast<int>(kind)]; }
  };

  bool has_previous(int chunk) const { return piece_of(schedule_, stage_, chunk) > 0; }
  bool has_next(int chunk) const { return piece_of(schedule_, stage_, chunk) + 1 < pieces_of(schedule_); }
  // Several chunks of a one-stage pipeline hand over in place.
  bool messages() const { return schedule_.stages > 1; }

  // Whether the pipeline's shape gives this chunk such an action at all.
  bool wanted(ActionKind kind, int chunk) const {
    switch (kind) {
      case ActionKind::kForward:
        return true;
      case ActionKind::kBackward:
        return !forward_only_;
      case ActionKind::kSendForward:
        return messages() && has_next(chunk);
      case ActionKind::kReceiveForward:
        return messages() && has_previous(chunk);
      case ActionKind::kSendBackward:
        return !forward_only_ && messages() && has_previous(chunk);
      case ActionKind::kReceiveBackward:
        return !forward_only_ && messages() && has_next(chunk);
    }
    return false;
  }

  void check(const Action& action) {
    if (action.chunk < 0 || action.chunk >= schedule_.chunks || action.micro_batch < 0 ||
        action.micro_batch >= schedule_.micro_batches)
      fail(action, fmt::format("there are only {} micro-batches and {} chunks", schedule_.micro_batches,
                               schedule_.chunks));
    Done& done = done_[action.chunk * schedule_.micro_batches + action.micro_batch];
    if (done[action.kind]) fail(action, "it has been done before");
    if (!wanted(action.kind, action.chunk)) fail(action, "this stage has no neighbour on that side");
    switch (action.kind) {
      case ActionKind::kForward:
        in_order(action, next_forward_);
        need(action, done, ActionKind::kReceiveForward);
        break;
      case ActionKind::kBackward:
        in_order(action, next_backward_);
        need(action, done, ActionKind::kForward);
        need(action, done, ActionKind::kReceiveBackward);
        break;
      case ActionKind::kSendForward:
        need(action, done, ActionKind::kForward);
        break;
      case ActionKind::kSendBackward:
        need(action, done, ActionKind::kBackward);
        break;
      case ActionKind::kReceiveForward:
      case ActionKind::kReceiveBackward:
        break;
    }
    done[action.kind] = true;
  }

  void in_order(const Action& action, std::vector<int>& next) {
    if (action.micro_batch != next[action.chunk])
      fail(action, fmt::format("micro-batch {} is the next in order", next[action.chunk]));
    ++next[action.chunk];
  }

  void need(const Action& action, Done& done, ActionKind kind) {
    if (wanted(kind, action.chunk) && !done[kind])
      fail(action, fmt::format("it needs {} before it",
                               to_text({kind, action.micro_batch, action.chunk}, schedule_.chunks)));
  }

  void check_complete(int chunk, int micro_batch) {
    Done& done = done_[chunk * schedule_.micro_batches + micro_batch];
    for (int kind = 0; kind < 6; ++kind)
      if (wanted(static_cast<ActionKind>(kind), chunk) && !done.met[kind])
        throw BugError(
            fmt::format("schedule: stage {} never does {}", stage_,
                        to_text({static_cast<ActionKind>(kind), micro_batch, chunk}, schedule_.chunks)));
  }

  [[noreturn]] void fail(const Action& action, const std::string& why) const {
    throw BugError(fmt::format("schedule: stage {} does {} as action {}, but {}", stage_,
                               to_text(action, schedule_.chunks), position_, why));
  }

  const Schedule& schedule_;
  int stage_;
  bool forward_only_;
  size_t position_ = 0;
  std::vector<int> next_forward_, next_backward_;  // by chunk
  std::vector<Done> done_;                         // by chunk and micro-batch
};

}  // namespace

ScheduleReport verify(const Schedule& schedule, const ActionCosts& costs) {
  if (schedule.stages < 1 || schedule.micro_batches < 1 || schedule.chunks < 1 ||
      schedule.actions.size() != static_cast<size_t>(schedule.stages))
    throw BugError(
        fmt::format("schedule: {} stages, {} micro-batches and {} chunks with action lists for {} stages; "
                    "sizes are at least "
                    "1 and every stage has its list",
                    schedule.stages, schedule.micro_batches, schedule.chunks, schedule.actions.size()));
  const bool forward_only = is_forward_only(schedule);
  for (int stage = 0; stage < schedule.stages; ++stage) StageCheck(schedule, stage, forward_only).run();
  return play(schedule, costs);
}

}  // namespace octant
