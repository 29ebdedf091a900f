// A pipeline schedule is data: for each pipeline stage a list of actions, made by a pure function and
// printable as text.
//
//   Schedule schedule = make_schedule(ScheduleKind::kOneFOneB, /*stages=*/4, /*micro_batches=*/8);
//   ScheduleReport report = verify(schedule);      // throws BugError naming the action where it is wrong
//   std::cout << to_text(schedule);                // "stage 0: F0 SEND_F0 F1 … "
//
// The executor and the planner both run this list. GPipe: Huang 2019; 1F1B: PipeDream-flush, Narayanan 2021
// (2104.04473, section 2.2). Both run their backwards in the order 0…m-1, so they add gradients in the same
// order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octant {

enum class ScheduleKind : uint8_t { kGpipe, kOneFOneB };
std::string_view name_of(ScheduleKind kind);

enum class ActionKind : uint8_t {
  kForward,
  kBackward,
  kSendForward,
  kReceiveForward,
  kSendBackward,
  kReceiveBackward
};

// One action of one pipeline stage. `chunk` is 0 until interleaving.
struct Action {
  ActionKind kind = ActionKind::kForward;
  int micro_batch = 0;
  int chunk = 0;
  bool operator==(const Action&) const = default;
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::kOneFOneB;
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;
  std::vector<std::vector<Action>> actions;  // by pipeline stage
};

// `stages` and `micro_batches` at least 1.
Schedule make_schedule(ScheduleKind kind, int stages, int micro_batches);

// Forward actions only, for evaluation.
Schedule make_forward_schedule(int stages, int micro_batches);

// Costs of one action, in any unit of time.
struct ActionCosts {
  double forward = 1;
  double backward = 2;
  double message = 0;
};

struct TimelineEntry {
  int stage = 0;
  Action action;
  double begin = 0, end = 0;
};

struct ScheduleReport {
  std::vector<int> peak_live_micro_batches;  // by stage: forwards without their backward, at most
  double makespan = 0;
  double bubble = 0;  // share of stages × makespan in which a stage neither runs forward nor backward
  std::vector<TimelineEntry> timeline;
};

// Simulates all stages together under sends that block until the receiver has posted the matching receive
// (receives of each direction are posted one ahead, as the executor does). Checks: every micro-batch once
// forward and (unless forward-only) once backward per chunk, in order; sends and receives match; no deadlock;
// the end is reached. Throws BugError saying where.
ScheduleReport verify(const Schedule& schedule, const ActionCosts& costs = {});

// "F0", "B0", "SEND_F0", "RECV_F0", "SEND_B0", "RECV_B0"; one line a stage. Chunks print as "F0.1" where
// there are several.
std::string to_text(const Action& action, int chunks = 1);
std::string to_text(const Schedule& schedule);
// The inverse of to_text(Schedule). Throws UserError with the line.
Schedule parse_schedule(const std::string& text);

// The timeline as an SVG drawing: a row a stage, forwards and backwards in two colours, the bubble and live
// micro-batches in the caption.
std::string to_svg(const Schedule& schedule, const ScheduleReport& report);

}  // namespace octant
