#include "pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"

namespace octant {
namespace {

constexpr ScheduleKind kKinds[] = {ScheduleKind::kGpipe, ScheduleKind::kOneFOneB};

TEST(Schedule, TextOfOneFOneB) {
  EXPECT_EQ(
      to_text(make_schedule(ScheduleKind::kOneFOneB, 3, 4)),
      "ONE_F_ONE_B stages=3 micro_batches=4\n"
      "stage 0: F0 SEND_F0 F1 SEND_F1 F2 SEND_F2 RECV_B0 B0 F3 SEND_F3 RECV_B1 B1 RECV_B2 B2 RECV_B3 B3\n"
      "stage 1: RECV_F0 F0 SEND_F0 RECV_F1 F1 SEND_F1 RECV_B0 B0 SEND_B0 RECV_F2 F2 SEND_F2 RECV_B1 B1 "
      "SEND_B1 "
      "RECV_F3 F3 SEND_F3 RECV_B2 B2 SEND_B2 RECV_B3 B3 SEND_B3\n"
      "stage 2: RECV_F0 F0 B0 SEND_B0 RECV_F1 F1 B1 SEND_B1 RECV_F2 F2 B2 SEND_B2 RECV_F3 F3 B3 SEND_B3\n");
}

TEST(Schedule, TextOfGpipe) {
  EXPECT_EQ(to_text(make_schedule(ScheduleKind::kGpipe, 2, 3)),
            "GPIPE stages=2 micro_batches=3\n"
            "stage 0: F0 SEND_F0 F1 SEND_F1 F2 SEND_F2 RECV_B0 B0 RECV_B1 B1 RECV_B2 B2\n"
            "stage 1: RECV_F0 F0 RECV_F1 F1 RECV_F2 F2 B0 SEND_B0 B1 SEND_B1 B2 SEND_B2\n");
}

TEST(Schedule, TextOfFewerMicroBatchesThanStages) {
  EXPECT_EQ(to_text(make_schedule(ScheduleKind::kOneFOneB, 3, 1)),
            "ONE_F_ONE_B stages=3 micro_batches=1\n"
            "stage 0: F0 SEND_F0 RECV_B0 B0\n"
            "stage 1: RECV_F0 F0 SEND_F0 RECV_B0 B0 SEND_B0\n"
            "stage 2: RECV_F0 F0 B0 SEND_B0\n");
}

TEST(Schedule, OneStageHasNoMessages) {
  EXPECT_EQ(to_text(make_schedule(ScheduleKind::kOneFOneB, 1, 2)),
            "ONE_F_ONE_B stages=1 micro_batches=2\nstage 0: F0 B0 F1 B1\n");
  EXPECT_EQ(to_text(make_schedule(ScheduleKind::kGpipe, 1, 2)),
            "GPIPE stages=1 micro_batches=2\nstage 0: F0 F1 B0 B1\n");
}

TEST(Schedule, RefusesEmptySizes) {
  EXPECT_THROW(make_schedule(ScheduleKind::kGpipe, 0, 1), UserError);
  EXPECT_THROW(make_schedule(ScheduleKind::kGpipe, 1, 0), UserError);
  EXPECT_THROW(make_forward_schedule(-1, 4), UserError);
}

TEST(Schedule, EverySizeVerifiesWithTheKnownMemoryAndBubble) {
  for (ScheduleKind kind : kKinds)
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 20; ++m) {
        SCOPED_TRACE(std::string(name_of(kind)) + " p=" + std::to_string(p) + " m=" + std::to_string(m));
        const Schedule schedule = make_schedule(kind, p, m);
        const ScheduleReport report = verify(schedule);
        for (int stage = 0; stage < p; ++stage) {
          EXPECT_EQ(report.peak_live_micro_batches[stage],
                    kind == ScheduleKind::kGpipe ? m : std::min(m, p - stage));
          int next = 0;
          for (const Action& action : schedule.actions[stage])
            if (action.kind == ActionKind::kBackward) {
              EXPECT_EQ(action.micro_batch, next++);
            }
          EXPECT_EQ(next, m);
        }
        EXPECT_NEAR(report.bubble, (p - 1.0) / (m + p - 1.0), 1e-12);
        EXPECT_DOUBLE_EQ(report.makespan, 3.0 * (m + p - 1));
      }
}

TEST(Schedule, MessagesMakeItLongerAndNeverBlockForEver) {
  for (ScheduleKind kind : kKinds)
    for (int p : {2, 3, 7})
      for (int m : {1, 2, 9}) {
        const Schedule schedule = make_schedule(kind, p, m);
        const ActionCosts slow{.forward = 1, .backward = 2, .message = 0.25};
        EXPECT_GT(verify(schedule, slow).makespan, verify(schedule).makespan);
      }
}

TEST(Schedule, ForwardOnly) {
  for (int p = 1; p <= 5; ++p)
    for (int m = 1; m <= 7; ++m) {
      const ScheduleReport report = verify(make_forward_schedule(p, m));
      EXPECT_DOUBLE_EQ(report.makespan, m + p - 1.0);
      EXPECT_EQ(report.peak_live_micro_batches, std::vector<int>(static_cast<size_t>(p), 1));
    }
}

TEST(Schedule, TimelineHoldsEveryActionWithoutOverlap) {
  const Schedule schedule = make_schedule(ScheduleKind::kOneFOneB, 4, 6);
  const ScheduleReport report = verify(schedule);
  size_t total = 0;
  for (const auto& actions : schedule.actions) total += actions.size();
  ASSERT_EQ(report.timeline.size(), total);
  for (size_t i = 1; i < total; ++i)
    if (report.timeline[i].stage == report.timeline[i - 1].stage) {
      EXPECT_GE(report.timeline[i].begin, report.timeline[i - 1].end);
    }
}

}  // namespace
}  // namespace octant
