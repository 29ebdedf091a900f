// What a run holds: micro-batches in flight under the pipeline, and nothing more as it goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "tests/train/run.h"

namespace octant::runs {
namespace {

TEST(C54_PipelineMemory, DoesNotGrowWithTheNumberOfMicroBatches) {
  const Folder folder;
  for (const char* recompute : {"NONE", "FULL"}) {
    std::vector<nlohmann::json> ranks;
    for (int accumulation : {4, 8, 32}) {
      const Outcome run =
          good_run(folder, "run",
                   {"training.steps=2", "model.num_layers=8", "model.ffn_hidden_size=512",
                    "batch.micro_batch_size=4", fmt::format("batch.global_batch_size={}", 4 * accumulation),
                    fmt::format("activation_checkpointing.mode={}", recompute)},
                   layout(1, 1, 4, 0));
      ASSERT_EQ(run.summary["ranks"].size(), 4u);
      for (int stage = 0; stage < 4; ++stage) {
        const nlohmann::json& rank = run.summary["ranks"][static_cast<size_t>(stage)];
        EXPECT_EQ(rank["pipeline"], stage);
        EXPECT_LE(rank["peak_live_micro_batches"], std::min(accumulation, 4 - stage))
            << "accumulation " << accumulation;
        if (accumulation == 4) {
          ranks.push_back(rank);
          continue;
        }
        // The tokens themselves are on the device for the whole step: what they take is known, and not of the
        // schedule.
        const auto without_data = [](const nlohmann::json& of) {
          return of["peak_bytes"]["total"].get<double>() - of["peak_bytes"]["data"].get<double>();
        };
        const double base = without_data(ranks[static_cast<size_t>(stage)]);
        EXPECT_NEAR(without_data(rank), base, 0.03 * base)
            << "pipeline stage " << stage << ", accumulation " << accumulation;
        // How many messages of 4·T·C floats are under way at the worst moment is a matter of timing; live
        // micro-batches are not.
        const double messages = 4 * (4 * 16 * 32 * 4);
        const auto activations = [](const nlohmann::json& of) {
          return of["peak_bytes"]["activations"].get<double>();
        };
        EXPECT_NEAR(activations(rank), activations(ranks[static_cast<size_t>(stage)]), messages);
      }
      // The loss is told once a step, by whoever prints.
      EXPECT_EQ(run.steps.size(), 2u);
      EXPECT_GT(run.losses()[0], 1.0);
    }
  }
}

int64_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

// Bytes of every rank's arena at the end.
std::vector<int64_t> arenas_after(const Folder& folder, int steps, const Set& set, const Set& grid) {
  std::vector<int64_t> bytes(8);
  good_run(folder, fmt::format("after_{}", steps), set, grid, {.at_end = [&](World& world) {
             bytes.at(static_cast<size_t>(world.rank())) = world.device().arena_bytes();
           }});
  std::filesystem::remove_all(folder / fmt::format("after_{}", steps));
  return bytes;
}

TEST(C55_LongRun, AsksTheSystemForNothingAfterItsSecondStep) {
  const Folder folder;
  // A stage keeps what it has sent until its neighbour has taken it: how many messages of 3·T·C floats lie
  // there at the worst moment is a matter of timing. One that leaked in each of ten steps would be found.
  constexpr int64_t kMessagesUnderWay = 4 * (3 * 16 * 32 * 4);
  for (const Set& grid : {layout(1, 1, 1, 0), layout(1, 2, 1, 0), layout(2, 1, 1, 3), layout(1, 1, 2, 1)}) {
    const auto arenas = [&](int steps) {
      return arenas_after(folder, steps,
                          {fmt::format("training.steps={}", steps), "batch.micro_batch_size=3",
                           "parallel.schedule=ONE_F_ONE_B"},
                          grid);
    };
    const bool pipeline = grid == layout(1, 1, 2, 1);
    const std::vector<int64_t> second = arenas(2), twelfth = arenas(12);
    EXPECT_GT(second[0], 0);
    for (size_t rank = 0; rank < second.size(); ++rank)
      EXPECT_LE(std::abs(twelfth[rank] - second[rank]), pipeline ? kMessagesUnderWay : 0)
          << name_of(grid) << " rank " << rank << ": " << second[rank] << ", then " << twelfth[rank];
  }
}

struct Held {
  int64_t bytes, arena, files;
};

TEST(C55_LongRun, HoldsNoMoreAsItGoesOn) {
  const Folder folder;
  for (const Set& grid : {layout(2, 1, 2, 1), layout(2, 1, 1, 3)}) {
    std::vector<Held> held;
    const Hooks hooks{.on_line = [&](World& world, const std::string& line) {
      if (line.starts_with("step "))
        held.push_back({world.device().ledger().current_total(), world.device().arena_bytes(), open_files()});
    }};
    Set set = {"training.steps=240",     "training.eval_interval=40", "data.validation_fraction=0.02",
               "checkpoint.interval=50", "checkpoint.keep=2",         "model.num_layers=2"};
    set.insert(set.end(), grid.begin(), grid.end());
    const Outcome run = good_run(folder, "run", set, {}, hooks);
    ASSERT_EQ(held.size(), 240u);
    // From the first evaluation and the first save on, everything is there and nothing is added.
    const Held& settled = held[60];
    for (size_t step = 61; step < held.size(); ++step) {
      EXPECT_EQ(held[step].bytes, settled.bytes) << "step " << step + 1;
      EXPECT_EQ(held[step].files, settled.files) << "step " << step + 1;
      // A message more under way than ever before takes its place; a leak takes some every step.
      EXPECT_LE(held[step].arena, settled.arena * 5 / 4) << "step " << step + 1;
      if (HasFailure()) return;
    }
    std::filesystem::remove_all(run.folder);
  }
}

}  // namespace
}  // namespace octant::runs
