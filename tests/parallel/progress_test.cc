// What a progress thread does while its rank computes: everything, and nothing that a rank could tell by its
// results.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "core/error.h"
#include "tests/parallel/values.h"
#include "tests/parallel/world_fixture.h"

namespace octant {
namespace {

constexpr std::chrono::seconds kLongest(60);

// Waits without driving anything: a rank with a progress thread does not drive when it asks.
bool comes_about(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(ProgressThread, FinishesEveryOperationWhileItsRankIsBusy) {
  for_each_world_with_progress_threads({2, 3, 4, 8}, [](World& world) {
    constexpr int64_t kElements = 50001;
    Communicator& group = world.communicator();
    Device& device = world.device();
    const int n = world.size(), me = world.rank();
    const Tensor reduced = coded_tensor(device, kElements, DType::kF32, me);
    const Tensor scattered = device.allocate({kElements}, DType::kF32, MemoryKind::kActivations);
    const Tensor gathered = device.allocate({n * kElements}, DType::kF32, MemoryKind::kActivations);
    const Tensor sent = coded_tensor(device, kElements, DType::kF32, me);
    const Tensor received = device.allocate({kElements}, DType::kF32, MemoryKind::kActivations);
    const Tensor whole = coded_tensor(device, n * kElements, DType::kF32, me);
    const std::vector<ReduceScatterPiece> scatter = {
        {.source = whole, .stride = kElements, .count = kElements, .target = scattered}};
    const std::vector<AllGatherPiece> gather = {
        {.source = sent, .target = gathered, .stride = kElements, .count = kElements}};
    group.barrier().wait();
    const double moved = world.times().moved, waited = world.times().waited;
    std::vector<Work> works;
    works.push_back(group.all_reduce(reduced, {}));
    works.push_back(group.reduce_scatter(scatter, {}));
    works.push_back(group.all_gather(gather, {}));
    works.push_back(group.send(sent, (me + 1) % n, 7, {}));
    works.push_back(group.receive(received, (me + n - 1) % n, 7, {}));
    for (Work& work : works) ASSERT_TRUE(comes_about([&] { return work.done(); }));
    EXPECT_EQ(world.times().moved, moved) << "the rank moved nothing itself";
    EXPECT_EQ(world.times().waited, waited) << "nor did it wait";
    EXPECT_GT(world.times().hidden, 0);
    EXPECT_EQ(first_difference(reduced, 0, kElements, [&](int64_t i) { return coded_sum(n, i); }), -1);
    EXPECT_EQ(first_difference(scattered, 0, kElements,
                               [&](int64_t i) { return coded_sum(n, me * kElements + i); }),
              -1);
    for (int q = 0; q < n; ++q)
      for (const int64_t i : {int64_t{0}, kElements / 2, kElements - 1})
        EXPECT_EQ(get_value(gathered, q * kElements + i), coded(q, i));
    EXPECT_EQ(first_difference(received, 0, kElements, [&](int64_t i) { return coded((me + n - 1) % n, i); }),
              -1);
  });
}

// Sizes on both sides of what is done at once, waits in any order, works that are dropped: the rank's thread
// and the progress thread meet in every way.
TEST(ProgressThread, MeetsItsRankInEveryWay) {
  for_each_world_with_progress_threads({2, 3, 4, 8}, [](World& world) {
    Communicator& group = world.communicator();
    const int n = world.size(), me = world.rank();
    std::mt19937 sizes(11), mine(static_cast<unsigned>(me) + 1);
    for (int round = 0; round < 30; ++round) {
      std::vector<Tensor> tensors;
      std::vector<Work> works;
      const Tensor in = coded_tensor(world.device(), 30000, DType::kF32, me);
      const Tensor out = world.device().allocate({30000}, DType::kF32, MemoryKind::kActivations);
      works.push_back(group.receive(out, (me + n - 1) % n, round % 3, {}));
      for (int k = 0; k < 5; ++k) {
        tensors.push_back(coded_tensor(world.device(), 1 + sizes() % 60000, DType::kF32, me));
        works.push_back(group.all_reduce(tensors.back(), {}));
        if (mine() % 4 == 0)
          works[1 + mine() % (works.size() - 1)].wait();  // not the message, which comes last
      }
      works.push_back(group.send(in, (me + 1) % n, round % 3, {}));
      std::shuffle(works.begin(), works.end(), mine);
      if (mine() % 3 == 0) works.clear();  // each is waited for
      for (Work& work : works) work.wait();
      for (const Tensor& x : tensors)
        ASSERT_EQ(first_difference(x, 0, x.elements(), [&](int64_t i) { return coded_sum(n, i); }), -1);
      ASSERT_EQ(first_difference(out, 0, 30000, [&](int64_t i) { return coded((me + n - 1) % n, i); }), -1);
    }
  });
}

// What a world keeps for its operations is given back when they have been waited for, whoever did them.
TEST(ProgressThread, KeepsNothing) {
  for_each_world_with_progress_threads({2, 4, 8}, [](World& world) {
    const MemoryLedger& ledger = world.device().ledger();
    const int64_t before = ledger.current_total();
    for (int round = 0; round < 50; ++round) {
      world.communicator()
          .all_reduce(coded_tensor(world.device(), 40000, DType::kF32, world.rank()), {})
          .wait();
      ASSERT_EQ(ledger.current_total(), before);
    }
  });
}

// A rank fails while the progress threads of all wait for it, and read one another's buffers.
TEST(ProgressThread, EndsWithItsWorld) {
  for (int round = 0; round < 5; ++round) {
    const Ran world = run_world(
        4, {.collective_timeout_seconds = 60},
        [&](World& mine) {
          std::vector<Tensor> tensors;
          std::vector<Work> works;
          for (int k = 0; k < 4; ++k) {
            if (mine.rank() == 2 && k == 3) throw UserError("enough");
            tensors.push_back(coded_tensor(mine.device(), 300000, DType::kF32, mine.rank()));
            works.push_back(mine.communicator().all_reduce(tensors.back(), {}));
          }
          for (Work& work : works) work.wait();
        },
        /*progress_threads=*/true);
    if (!world.ran) GTEST_SKIP() << "not for a job of " << mpi::launch().size << " ranks";
    EXPECT_EQ(world.result.exit_code, 2);
    EXPECT_EQ(world.result.failed_rank, 2);
    EXPECT_EQ(world.result.message, "enough");
  }
}

// The mismatch is found by whoever looks first, on any thread, and is told to every rank.
TEST(ProgressThread, TellsOfAMismatch) {
  const Ran world = run_world(
      2, {.verify_collectives = true, .collective_timeout_seconds = 60},
      [](World& mine) {
        const int64_t elements = mine.rank() == 0 ? 100000 : 100001;
        const Tensor x = coded_tensor(mine.device(), elements, DType::kF32, mine.rank());
        Work work = mine.communicator().all_reduce(x, {.purpose = "gradients"});
        comes_about([&] { return work.done(); });
        work.wait();
      },
      /*progress_threads=*/true);
  if (!world.ran) GTEST_SKIP() << "not for a job of " << mpi::launch().size << " ranks";
  EXPECT_EQ(world.result.exit_code, 1);
  EXPECT_NE(world.result.message.find("100000"), std::string::npos) << world.result.message;
  EXPECT_NE(world.result.message.find("100001"), std::string::npos) << world.result.message;
}

}  // namespace
}  // namespace octant
