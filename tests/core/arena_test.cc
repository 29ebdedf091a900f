#include "core/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "core/cpu/cpu_backend.h"
#include "core/error.h"

namespace octant {
namespace {

class ArenaTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> backend_ = cpu::make_backend({});
  Arena arena_{*backend_};
};

TEST_F(ArenaTest, FreedNeighboursJoin) {
  void* const a = arena_.take(640).data;
  void* const b = arena_.take(640).data;
  void* const c = arena_.take(640).data;
  void* const keeper = arena_.take(64).data;
  const int64_t mark = arena_.mark();
  // In an order that joins with the block before, with the one behind, and with both.
  arena_.give_back(a, 640);
  arena_.give_back(c, 640);
  arena_.give_back(b, 640);
  void* const whole = arena_.take(3 * 640).data;
  EXPECT_EQ(whole, a);
  EXPECT_EQ(arena_.mark(), mark);
  arena_.give_back(whole, 3 * 640);
  arena_.give_back(keeper, 64);
}

TEST_F(ArenaTest, TheTightestHoleIsTaken) {
  std::vector<void*> blocks;
  for (int64_t bytes : {6400, 64, 640, 64, 3200, 64}) blocks.push_back(arena_.take(bytes).data);
  arena_.give_back(blocks[0], 6400);
  arena_.give_back(blocks[2], 640);
  arena_.give_back(blocks[4], 3200);
  EXPECT_EQ(arena_.take(600).data, blocks[2]);
  EXPECT_EQ(arena_.take(3000).data, blocks[4]);
  EXPECT_EQ(arena_.take(3000).data, blocks[0]);
}

// Thousands of takes and returns of odd sizes: blocks never overlap, and all of it is one hole again at the end.
TEST_F(ArenaTest, BlocksNeverOverlap) {
  std::mt19937 random(7);
  std::map<std::byte*, int64_t> taken;
  for (int round = 0; round < 5000; ++round) {
    if (taken.empty() || random() % 5 < 3) {
      const int64_t bytes = static_cast<int64_t>(random() % (round % 7 == 0 ? 100'000 : 300));
      auto* const data = static_cast<std::byte*>(arena_.take(bytes).data);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
      const auto [at, added] = taken.emplace(data, bytes);
      ASSERT_TRUE(added);
      if (at != taken.begin()) {
        const auto before = std::prev(at);
        ASSERT_LE(before->first + before->second, data);
      }
      if (std::next(at) != taken.end()) {
        ASSERT_LE(data + bytes, std::next(at)->first);
      }
    } else {
      auto at = taken.begin();
      std::advance(at, static_cast<int64_t>(random() % taken.size()));
      arena_.give_back(at->first, at->second);
      taken.erase(at);
    }
  }
  const int64_t mark = arena_.mark();
  for (const auto& [data, bytes] : taken) arena_.give_back(data, bytes);
  void* const all = arena_.take(mark).data;
  EXPECT_EQ(arena_.mark(), std::max(mark, arena_.mark()));
  EXPECT_LE(arena_.mark(), mark + 64);
  arena_.give_back(all, mark);
}

// A step that frees in the reverse order of its takes needs no more than its tensors do.
TEST_F(ArenaTest, AStepNeedsWhatItsTensorsNeed) {
  int64_t need = 0;
  std::vector<std::pair<void*, int64_t>> stash;
  for (int step = 0; step < 3; ++step) {
    for (int64_t layer = 0; layer < 12; ++layer) {
      const int64_t kept = 64 * (1000 + layer % 3), passing = 64 * 700;
      void* const temporary = arena_.take(passing).data;
      stash.emplace_back(arena_.take(kept).data, kept);
      arena_.give_back(temporary, passing);
      if (step == 0) need += kept;
    }
    while (!stash.empty()) {
      arena_.give_back(stash.back().first, stash.back().second);
      stash.pop_back();
    }
  }
  EXPECT_LE(arena_.mark(), need + need / 10 + 64 * 700);
}

// Memory that claims to be zero is, and what was written before never claims it.
TEST_F(ArenaTest, KnowsWhatIsStillZero) {
  constexpr int64_t kBytes = 5000;
  Arena::Block block = arena_.take(kBytes);
  ASSERT_TRUE(block.is_zero);
  auto* const bytes = static_cast<unsigned char*>(block.data);
  EXPECT_TRUE(std::all_of(bytes, bytes + kBytes, [](unsigned char byte) { return byte == 0; }));
  std::fill(bytes, bytes + kBytes, static_cast<unsigned char>(7));
  arena_.give_back(block.data, kBytes);
  EXPECT_FALSE(arena_.take(100).is_zero);
  EXPECT_FALSE(arena_.take(2 * kBytes).is_zero) << "it begins in what was written";
}

TEST_F(ArenaTest, RefusalsLeaveItAsItWas) {
  void* const block = arena_.take(100).data;
  EXPECT_THROW(arena_.take(int64_t{1} << 60), MemoryError);
  EXPECT_THROW(arena_.take(INT64_MAX), MemoryError);
  EXPECT_LE(arena_.mark(), 1024);
  arena_.give_back(block, 100);
}

}  // namespace
}  // namespace octant
