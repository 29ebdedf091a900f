// device.progress_thread: whole runs where it moves the bytes are the runs without it, and say so.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/train/run.h"
#include "train/placement.h"

namespace octant::runs {
namespace {

// Tensors of more than what a rank does at once, so that there is something to leave to another thread.
const Set kLarge = {"model.hidden_size=96", "model.ffn_hidden_size=384", "training.steps=5"};
const Set kOn = {"device.progress_thread=ON"};

Set both(Set first, const Set& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ProgressThreadRuns, ChangesNoBitOfARun) {
  const Folder folder;
  for (const Set& grid : {layout(2, 1, 1, 1), layout(2, 1, 1, 3), layout(2, 2, 2, 2), layout(1, 2, 2, 0)}) {
    const Outcome off = good_run(folder, "off", both(kLarge, grid), {"device.progress_thread=OFF"});
    const Outcome on = good_run(folder, "on", both(kLarge, grid), kOn);
    expect_same_steps(off, on, name_of(grid));
    double hidden = 0;
    for (const nlohmann::json& rank : on.summary["ranks"])
      hidden += rank["hidden_communication"].get<double>();
    EXPECT_GT(hidden, 0) << name_of(grid);
    double in_steps = 0;
    for (const nlohmann::json& step : on.steps) in_steps += step["hidden_communication"].get<double>();
    EXPECT_LE(in_steps, hidden);
    EXPECT_EQ(off.summary["ranks"][0]["hidden_communication"], 0.0);
    EXPECT_EQ(on.summary["progress_thread"], true);
    EXPECT_EQ(off.summary["progress_thread"], false);
    EXPECT_TRUE(on.printed("each rank's progress thread")) << on.output;
    EXPECT_TRUE(off.printed("communication is done by the ranks' own threads")) << off.output;
    EXPECT_TRUE(off.printed("device.progress_thread is OFF")) << off.output;
  }
}

TEST(ProgressThreadRuns, IsOfNoUseToOneRank) {
  const Folder folder;
  const Outcome alone = good_run(folder, "alone", {"training.steps=1"}, kOn);
  EXPECT_EQ(alone.summary["progress_thread"], false);
  EXPECT_TRUE(alone.printed("device.progress_thread=ON has nothing to do")) << alone.output;
}

TEST(ProgressThreadRuns, HasItsOwnColumnAndLaneInAProfile) {
  const Folder folder;
  const Outcome on = good_run(folder, "on", kLarge, both(layout(2, 1, 1, 2), kOn), {.profile_steps = 2});
  const std::string table = text_of(on.folder / "profile.txt");
  EXPECT_NE(table.find("hidden copying"), std::string::npos) << table;
  const nlohmann::json trace = nlohmann::json::parse(text_of(on.folder / "profile.trace.json"));
  double hidden = 0;
  bool named = false;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["tid"] != 3) continue;
    if (event["ph"] == "X") hidden += event["dur"].get<double>();
    if (event["ph"] == "M") named = named || event["args"]["name"] == "progress thread";
  }
  EXPECT_GT(hidden, 0);
  EXPECT_TRUE(named);
}

TEST(ProgressThreadRuns, RunsWhereACoreIsFreeForEveryRank) {
  const RankPlacement full{.ranks = 2, .threads = 3, .allowed_cores = 7, .has_peers = true};
  EXPECT_FALSE(full.progress_thread()) << "one core for two ranks";
  RankPlacement room = full;
  room.allowed_cores = 8;
  EXPECT_TRUE(room.progress_thread());
  room.has_peers = false;
  EXPECT_FALSE(room.progress_thread());
  room.has_peers = true;
  room.wanted = ProgressThread::kOff;
  EXPECT_FALSE(room.progress_thread());
  RankPlacement asked = full;
  asked.wanted = ProgressThread::kOn;
  EXPECT_TRUE(asked.progress_thread());
  EXPECT_NE(asked.overlap_text().find("takes turns with compute"), std::string::npos) << asked.overlap_text();
  asked.allowed_cores = 8;
  EXPECT_NE(asked.overlap_text().find("moves bytes while the rank computes, 2 cores free"), std::string::npos)
      << asked.overlap_text();
  // A launcher has bound each of eight processes to four of the machine's cores.
  RankPlacement bound{.ranks = 8,
                      .processes = true,
                      .threads = 3,
                      .allowed_cores = 4,
                      .machine_cores = 32,
                      .has_peers = true};
  EXPECT_TRUE(bound.progress_thread());
  bound.threads = 4;
  EXPECT_FALSE(bound.progress_thread());
}

TEST(ProgressThreadRuns, HasACoreLeftWhereThreadsAreChosen) {
  const Folder folder;
  const Set chosen = {"training.steps=1", "device.threads_per_rank=0"};
  const int cores = usable_cores();
  const auto threads = [&](const Set& more) {
    return placement_of(job(folder, "run", chosen, both(layout(2, 1, 1, 1), more)), 1, true).threads;
  };
  EXPECT_EQ(threads({}), cores);
  EXPECT_EQ(threads(kOn), std::max(1, cores - 1));
}

}  // namespace
}  // namespace octant::runs
