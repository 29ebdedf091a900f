#include <gtest/gtest.h>

#include "core/error.h"
#include "pipeline/schedule.h"

namespace octant {
namespace {

void expect_same(const Schedule& a, const Schedule& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.stages, b.stages);
  EXPECT_EQ(a.micro_batches, b.micro_batches);
  EXPECT_EQ(a.chunks, b.chunks);
  EXPECT_EQ(a.actions, b.actions);
}

TEST(ScheduleText, ParseIsTheInverse) {
  for (ScheduleKind kind : {ScheduleKind::kGpipe, ScheduleKind::kOneFOneB})
    for (int p : {1, 2, 5, 8})
      for (int m : {1, 3, 11}) {
        const Schedule schedule = make_schedule(kind, p, m);
        expect_same(parse_schedule(to_text(schedule)), schedule);
      }
}

// Two chunks on each of two stages, by hand: the pieces of the model go 0.0, 1.0, 0.1, 1.1.
constexpr const char* kChunked =
    "ONE_F_ONE_B stages=2 micro_batches=1 chunks=2\n"
    "stage 0: F0.0 SEND_F0.0 RECV_F0.1 F0.1 SEND_F0.1 RECV_B0.1 B0.1 SEND_B0.1 RECV_B0.0 B0.0\n"
    "stage 1: RECV_F0.0 F0.0 SEND_F0.0 RECV_F0.1 F0.1 B0.1 SEND_B0.1 RECV_B0.0 B0.0 SEND_B0.0\n";

TEST(ScheduleText, Chunks) {
  const Schedule schedule = parse_schedule(kChunked);
  EXPECT_EQ(to_text(schedule), kChunked);
  EXPECT_DOUBLE_EQ(verify(schedule).makespan, 12);
}

TEST(ScheduleText, EmptyAndCommentLinesAreSkipped) {
  const Schedule schedule =
      parse_schedule("# made by hand\nGPIPE stages=1 micro_batches=1\n\nstage 0: F0 B0\n");
  EXPECT_EQ(schedule.actions[0].size(), 2u);
}

struct Bad {
  const char* text;
  const char* said;
};

TEST(ScheduleText, ErrorsNameTheLine) {
  for (const Bad& bad :
       {Bad{"", "empty"}, Bad{"FIFO stages=1 micro_batches=1\n", "line 1: 'FIFO'"},
        Bad{"GPIPE stages=0 micro_batches=1\n", "line 1: 'stages=0'"},
        Bad{"GPIPE stages=1\n", "line 1: stages or micro_batches is missing"},
        Bad{"GPIPE stages=2 micro_batches=1\nstage 0: F0\n", "announces 2 stages but has lines for 1"},
        Bad{"GPIPE stages=1 micro_batches=1\nstage 1: F0\n", "line 2: stage 1 given"},
        Bad{"GPIPE stages=1 micro_batches=1\nstage 0: F0 X1\n", "line 2: 'X1'"},
        Bad{"GPIPE stages=1 micro_batches=1\nstage 0: F0.1\n", "line 2: 'F0.1'"},
        Bad{"GPIPE stages=1 micro_batches=1\nstage 0: F-1\n", "line 2: 'F-1'"},
        Bad{"GPIPE stages=1 micro_batches=1\nstage 0: F99999999999\n", "line 2: 'F99999999999'"},
        Bad{"GPIPE stages=1 micro_batches=1\nF0 B0\n", "line 2: expected 'stage 0:"}}) {
    try {
      parse_schedule(bad.text);
      ADD_FAILURE() << bad.text;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(bad.said), std::string::npos) << error.what();
    }
  }
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ScheduleSvg, HasARowAStageAndABoxAnAction) {
  const Schedule schedule = make_schedule(ScheduleKind::kOneFOneB, 4, 6);
  const std::string svg = to_svg(schedule, verify(schedule));
  EXPECT_TRUE(svg.starts_with("<svg xmlns"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<title>"), 4u * 6 * 2);
  EXPECT_EQ(count(svg, "fill=\"#4c8bc0\""), 4u * 6 + 1);
  EXPECT_EQ(count(svg, "fill=\"#e2a03f\""), 4u * 6 + 1);
  for (const char* stage : {">stage 0<", ">stage 3<"}) EXPECT_EQ(count(svg, stage), 1u);
  EXPECT_NE(svg.find("bubble 33.3 %"), std::string::npos);
  EXPECT_NE(svg.find("at most: 4 3 2 1"), std::string::npos);
  for (const char* tag : {"svg", "g", "text", "title"})
    EXPECT_EQ(count(svg, std::string("<") + tag + ">") + count(svg, std::string("<") + tag + " "),
              count(svg, std::string("</") + tag + ">"))
        << tag;
  EXPECT_EQ(svg, to_svg(schedule, verify(schedule)));
}

TEST(ScheduleSvg, AnyUnitOfTimeGivesADrawingOfReasonableWidth) {
  const Schedule schedule = make_schedule(ScheduleKind::kGpipe, 2, 3);
  for (double unit : {1e-6, 1.0, 1e4}) {
    const std::string svg =
        to_svg(schedule, verify(schedule, {.forward = unit, .backward = 2 * unit, .message = 0.1 * unit}));
    const double width = std::stod(svg.substr(svg.find("width=\"") + 7));
    EXPECT_GE(width, 640);
    EXPECT_LE(width, 1300);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
  }
}

}  // namespace
}  // namespace octant
