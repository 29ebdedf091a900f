// Each planted fault must be found, with a message that names the stage and the action.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "pipeline/schedule.h"

namespace octant {
namespace {

using Actions = std::vector<Action>;

Action parse_action(const std::string& text) {
  return parse_schedule("GPIPE stages=1 micro_batches=9\nstage 0: " + text + "\n").actions[0][0];
}

Actions::iterator find(Actions& actions, const std::string& text) {
  const auto found = std::find(actions.begin(), actions.end(), parse_action(text));
  EXPECT_NE(found, actions.end()) << text;
  return found;
}

std::string fault(const std::function<void(Schedule&)>& plant) {
  Schedule schedule = make_schedule(ScheduleKind::kOneFOneB, 3, 5);
  plant(schedule);
  try {
    verify(schedule);
  } catch (const BugError& error) {
    return error.what();
  }
  return "not found";
}

void expect_names(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

TEST(ScheduleFaults, MissingReceive) {
  expect_names(fault([](Schedule& s) { s.actions[1].erase(find(s.actions[1], "RECV_F2")); }),
               {"stage 1", "F2", "needs RECV_F2"});
}

TEST(ScheduleFaults, DroppedSend) {
  expect_names(fault([](Schedule& s) { s.actions[0].erase(find(s.actions[0], "SEND_F3")); }),
               {"stage 0 never does SEND_F3"});
}

TEST(ScheduleFaults, DoubleBackward) {
  expect_names(fault([](Schedule& s) {
                 const auto at = find(s.actions[2], "B1");
                 s.actions[2].insert(at + 1, *at);
               }),
               {"stage 2", "B1", "done before"});
}

TEST(ScheduleFaults, DroppedBackward) {
  expect_names(fault([](Schedule& s) {
                 s.actions[0].erase(find(s.actions[0], "RECV_B4"));
                 s.actions[0].erase(find(s.actions[0], "B4"));
               }),
               {"stage 0 never does B4"});
}

TEST(ScheduleFaults, ForwardsOutOfOrder) {
  expect_names(fault([](Schedule& s) { std::iter_swap(find(s.actions[0], "F0"), find(s.actions[0], "F1")); }),
               {"stage 0", "F1", "micro-batch 0 is the next"});
}

TEST(ScheduleFaults, SendsOutOfOrder) {
  expect_names(fault([](Schedule& s) {
                 Actions& actions =
                     s.actions[0];  // F0 F1 SEND_F1 SEND_F0: each stage by itself looks complete
                 actions.erase(find(actions, "SEND_F0"));
                 actions.insert(find(actions, "SEND_F1") + 1, parse_action("SEND_F0"));
               }),
               {"stage 0 does SEND_F1", "stage 1 has posted RECV_F0"});
}

TEST(ScheduleFaults, ReceivesOutOfOrder) {
  expect_names(fault([](Schedule& s) {
                 Actions& actions = s.actions[0];
                 actions.erase(find(actions, "RECV_B1"));
                 actions.insert(find(actions, "RECV_B0"), parse_action("RECV_B1"));
               }),
               {"stage 1 does SEND_B0", "stage 0 has posted RECV_B1"});
}

TEST(ScheduleFaults, Deadlock) {
  expect_names(fault([](Schedule& s) {
                 Actions& actions = s.actions[0];  // waits for the answer before it has asked
                 actions.erase(find(actions, "RECV_B0"));
                 actions.insert(find(actions, "SEND_F0"), parse_action("RECV_B0"));
               }),
               {"deadlock", "stage 0 waits in RECV_B0 (action 1)", "stage 1 waits in RECV_F0"});
}

TEST(ScheduleFaults, MessageWithoutNeighbour) {
  expect_names(fault([](Schedule& s) { s.actions[2].push_back(parse_action("SEND_F0")); }),
               {"stage 2", "SEND_F0", "no neighbour"});
}

TEST(ScheduleFaults, MicroBatchOutOfRange) {
  expect_names(fault([](Schedule& s) { s.actions[2].push_back(parse_action("F5")); }),
               {"stage 2", "F5", "only 5"});
}

TEST(ScheduleFaults, EverySingleDroppedActionIsFound) {
  const Schedule good = make_schedule(ScheduleKind::kOneFOneB, 3, 4);
  for (size_t stage = 0; stage < good.actions.size(); ++stage)
    for (size_t position = 0; position < good.actions[stage].size(); ++position) {
      Schedule schedule = good;
      schedule.actions[stage].erase(schedule.actions[stage].begin() + static_cast<int64_t>(position));
      EXPECT_THROW(verify(schedule), BugError) << stage << " " << to_text(good.actions[stage][position]);
    }
}

TEST(ScheduleFaults, ListsForTheWrongNumberOfStages) {
  expect_names(fault([](Schedule& s) { s.actions.pop_back(); }), {"3 stages", "lists for 2"});
}

}  // namespace
}  // namespace octant
