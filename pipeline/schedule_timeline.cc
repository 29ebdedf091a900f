#include "pipeline/schedule_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/error.h"

namespace octant {
namespace {

constexpr int kForwardLane = 0;
constexpr int kBackwardLane = 1;

// What travels between two neighbours in one direction, from the receiver's side.
struct Lane {
  std::vector<Action> receives;  // the receiver's RECV actions, in its order
  std::vector<double> posted;    // when each was posted; grows as the RECV before it completes
  std::vector<double> arrived;   // when each message was there; grows as sends complete
};

class Player {
 public:
  Player(const Schedule& schedule, const ActionCosts& costs)
      : schedule_(schedule),
        costs_(costs),
        next_(schedule.actions.size(), 0),
        clock_(schedule.actions.size(), 0),
        live_(schedule.actions.size(), 0),
        taken_(schedule.actions.size()),
        forward_only_(is_forward_only(schedule)) {
    for (auto& lanes : lanes_) lanes.resize(schedule.actions.size());
    for (int stage = 0; stage < schedule.stages; ++stage)
      for (const Action& action : schedule.actions[stage]) {
        if (action.kind == ActionKind::kReceiveForward)
          lanes_[kForwardLane][stage].receives.push_back(action);
        if (action.kind == ActionKind::kReceiveBackward)
          lanes_[kBackwardLane][stage].receives.push_back(action);
      }
    for (auto& lanes : lanes_)
      for (Lane& lane : lanes) lane.posted.push_back(0);
    report_.peak_live_micro_batches.assign(schedule.actions.size(), 0);
  }

  ScheduleReport play() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int stage = 0; stage < schedule_.stages; ++stage)
        while (step(stage)) moved = true;
    }
    for (int stage = 0; stage < schedule_.stages; ++stage)
      if (next_[stage] < schedule_.actions[stage].size()) throw BugError(deadlock());
    finish();
    return std::move(report_);
  }

 private:
  // Runs the next action of `stage` if it can start; false when it waits or nothing is left.
  bool step(int stage) {
    if (next_[stage] == schedule_.actions[stage].size()) return false;
    const Action& action = schedule_.actions[stage][next_[stage]];
    std::optional<double> end;
    switch (action.kind) {
      case ActionKind::kForward:
        end = clock_[stage] + costs_.forward;
        if (forward_only_) {
          report_.peak_live_micro_batches[stage] = 1;
        } else {
          report_.peak_live_micro_batches[stage] =
              std::max(report_.peak_live_micro_batches[stage], ++live_[stage]);
        }
        break;
      case ActionKind::kBackward:
        end = clock_[stage] + costs_.backward;
        --live_[stage];
        break;
      case ActionKind::kSendForward:
        end = send(stage, action, (stage + 1) % schedule_.stages, kForwardLane);
        break;
      case ActionKind::kSendBackward:
        end = send(stage, action, (stage + schedule_.stages - 1) % schedule_.stages, kBackwardLane);
        break;
      case ActionKind::kReceiveForward:
        end = receive(stage, kForwardLane);
        break;
      case ActionKind::kReceiveBackward:
        end = receive(stage, kBackwardLane);
        break;
    }
    if (!end) return false;
    report_.timeline.push_back({stage, action, clock_[stage], *end});
    clock_[stage] = *end;
    ++next_[stage];
    return true;
  }

  std::optional<double> send(int stage, const Action& action, int peer, int direction) {
    Lane& lane = lanes_[direction][peer];
    const size_t number = lane.arrived.size();
    if (number >= lane.receives.size())
      throw BugError(fmt::format("schedule: stage {} does {}, but stage {} has no receive left for it", stage,
                                 to_text(action, schedule_.chunks), peer));
    const Action& expected = lane.receives[number];
    const int sent = piece_of(schedule_, stage, action.chunk) + (direction == kForwardLane ? 1 : -1);
    if (expected.micro_batch != action.micro_batch || piece_of(schedule_, peer, expected.chunk) != sent)
      throw BugError(
          fmt::format("schedule: stage {} does {} while stage {} has posted {}: messages of one direction "
                      "must be received in the order in which they are sent",
                      stage, to_text(action, schedule_.chunks), peer, to_text(expected, schedule_.chunks)));
    if (number >= lane.posted.size()) return std::nullopt;
    const double end = std::max(clock_[stage], lane.posted[number]) + costs_.message;
    lane.arrived.push_back(end);
    return end;
  }

  std::optional<double> receive(int stage, int direction) {
    Lane& lane = lanes_[direction][stage];
    const size_t number = taken_[stage][direction];
    if (number >= lane.arrived.size()) return std::nullopt;
    ++taken_[stage][direction];
    const double end = std::max(clock_[stage], lane.arrived[number]);
    lane.posted.push_back(end);
    return end;
  }

  std::string deadlock() const {
    std::string text = "schedule: deadlock;";
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      const auto& actions = schedule_.actions[stage];
      text += next_[stage] < actions.size()
                  ? fmt::format(" stage {} waits in {} (action {})", stage,
                                to_text(actions[next_[stage]], schedule_.chunks), next_[stage])
                  : fmt::format(" stage {} is done", stage);
      text += stage + 1 < schedule_.stages ? "," : "";
    }
    return text;
  }

  void finish() {
    double busy = 0;
    for (const TimelineEntry& entry : report_.timeline) {
      report_.makespan = std::max(report_.makespan, entry.end);
      if (entry.action.kind == ActionKind::kForward) busy += costs_.forward;
      if (entry.action.kind == ActionKind::kBackward) busy += costs_.backward;
    }
    if (report_.makespan > 0) report_.bubble = 1 - busy / (report_.makespan * schedule_.stages);
    std::stable_sort(report_.timeline.begin(), report_.timeline.end(),
                     [](const TimelineEntry& a, const TimelineEntry& b) {
                       return a.stage != b.stage ? a.stage < b.stage : a.begin < b.begin;
                     });
  }

  const Schedule& schedule_;
  const ActionCosts& costs_;
  std::vector<size_t> next_;                  // by stage: the action to run next
  std::vector<double> clock_;                 // by stage: when the last action ended
  std::vector<int> live_;                     // by stage: forwards without their backward
  std::vector<std::array<size_t, 2>> taken_;  // by stage and direction: receives completed
  std::array<std::vector<Lane>, 2> lanes_;    // by direction and receiving stage
  bool forward_only_;
  ScheduleReport report_;
};

}  // namespace

bool is_forward_only(const Schedule& schedule) {
  for (const auto& actions : schedule.actions)
    for (const Action& action : actions)
      if (action.kind == ActionKind::kBackward || action.kind == ActionKind::kSendBackward ||
          action.kind == ActionKind::kReceiveBackward)
        return false;
  return true;
}

ScheduleReport play(const Schedule& schedule, const ActionCosts& costs) {
  return Player(schedule, costs).play();
}

}  // namespace octant
