// Several operations under way at once: different waiting orders, groups in groups, early messages.
#include <algorithm>
#include <array>
#include <random>

#include "tests/parallel/values.h"
#include "tests/parallel/world_fixture.h"

namespace octant {
namespace {

TEST(Overlap, RanksWaitInDifferentOrders) {
  for_each_world({2, 3, 4, 8}, [](World& world) {
    Communicator& group = world.communicator();
    std::mt19937 random(static_cast<unsigned>(world.rank()) + 1);
    for (int round = 0; round < 20; ++round) {
      std::vector<Tensor> tensors;
      std::vector<Work> works;
      for (int k = 0; k < 6; ++k) {
        tensors.push_back(coded_tensor(world.device(), 50 + 31 * k, DType::kF32, world.rank()));
        works.push_back(group.all_reduce(tensors.back(), {}));
      }
      std::shuffle(works.begin(), works.end(), random);
      for (Work& work : works) work.wait();
      for (const Tensor& x : tensors)
        ASSERT_EQ(first_difference(x, 0, x.elements(), [&](int64_t i) { return coded_sum(world.size(), i); }),
                  -1);
    }
  });
}

TEST(Overlap, GroupsInGroupsWorkAtOnce) {
  const auto body = [](const GridSizes& sizes) {
    return [sizes](World& world) {
      GridGroups groups(world, ProcessGrid(sizes));
      const ProcessGrid& grid = groups.grid;
      EXPECT_EQ(groups.data->size(), sizes.data);
      EXPECT_EQ(groups.data->rank(), groups.at.data);
      EXPECT_EQ(groups.tensor->rank(), groups.at.tensor);
      EXPECT_EQ(groups.pipeline->rank(), groups.at.pipeline);
      const bool middle = groups.at.pipeline != 0 && groups.at.pipeline != sizes.pipeline - 1;
      EXPECT_EQ(groups.ends->size(), middle ? 1 : std::min(2, sizes.pipeline));
      for (int q = 0; q < groups.data->size(); ++q)
        EXPECT_EQ(groups.data->world_rank(q),
                  grid.members(Axis::kData, world.rank())[static_cast<size_t>(q)]);

      for (int round = 0; round < 10; ++round) {
        std::array<Communicator*, 4> order = {groups.data.get(), groups.tensor.get(), groups.pipeline.get(),
                                              &world.communicator()};
        std::mt19937 random(static_cast<unsigned>(round * 100 + world.rank()));
        std::vector<Tensor> tensors;
        std::vector<Work> works;
        std::shuffle(order.begin(), order.end(),
                     random);  // groups are independent, so ranks may issue in any order
        for (Communicator* group : order) {
          tensors.push_back(coded_tensor(world.device(), 77, DType::kI64, world.rank()));
          works.push_back(group->all_reduce(tensors.back(), {}));
        }
        std::shuffle(works.begin(), works.end(), random);
        for (Work& work : works) work.wait();
        for (size_t g = 0; g < order.size(); ++g)
          ASSERT_EQ(first_difference(tensors[g], 0, 77,
                                     [&](int64_t i) {
                                       double sum = 0;
                                       for (int q = 0; q < order[g]->size(); ++q)
                                         sum += coded(order[g]->world_rank(q), i);
                                       return sum;
                                     }),
                    -1);
      }
    };
  };
#ifdef OCTANT_TEST_MPI
  const int ranks = mpi::launch().size;
  for_each_world({2, 4, 8},
                 body({.data = std::max(1, ranks / 4), .tensor = ranks >= 4 ? 2 : 1, .pipeline = 2}));
#else
  for_each_world({2}, body({.data = 1, .tensor = 1, .pipeline = 2}));
  for_each_world({4}, body({.data = 2, .tensor = 2, .pipeline = 1}));
  for_each_world({8}, body({.data = 2, .tensor = 2, .pipeline = 2}));
  for_each_world({6}, body({.data = 1, .tensor = 2, .pipeline = 3}));
#endif
}

TEST(Overlap, SplitOrdersByKey) {
  for_each_world({3, 4, 5, 8}, [](World& world) {
    const auto reversed = world.communicator().split("reversed", 0, -world.rank());
    EXPECT_EQ(reversed->rank(), world.size() - 1 - world.rank());
    EXPECT_EQ(reversed->name(), "reversed");
    const auto parity = reversed->split("parity", world.rank() % 2, 0);
    const std::array<double, 1> mine = {static_cast<double>(world.rank())};
    const std::vector<double> all = parity->all_gather(mine);
    EXPECT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
    for (const double rank : all) EXPECT_EQ(static_cast<int>(rank) % 2, world.rank() % 2);
  });
}

TEST(Overlap, MessagesArriveInOrderForEachTag) {
  for_each_world({2, 4, 8}, [](World& world) {
    Communicator& group = world.communicator();
    const int partner = world.rank() ^ 1;
    std::vector<Tensor> in, out;
    std::vector<Work> works;
    for (int k = 0; k < 12; ++k) {  // receives posted early, two tags interleaved differently on both sides
      in.push_back(world.device().allocate({20}, DType::kI32, MemoryKind::kActivations));
      works.push_back(group.receive(in.back(), partner, k % 2, {}));
    }
    for (const int tag : {1, 0})
      for (int k = 0; k < 6; ++k) {
        out.push_back(world.device().allocate({20}, DType::kI32, MemoryKind::kActivations));
        for (int64_t i = 0; i < 20; ++i) set_value(out.back(), i, 1000 * tag + 10 * k + world.rank());
        works.push_back(group.send(out.back(), partner, tag, {}));
      }
    std::reverse(works.begin(), works.end());
    for (Work& work : works) work.wait();
    for (int k = 0; k < 12; ++k)
      EXPECT_EQ(get_value(in[static_cast<size_t>(k)], 19), 1000 * (k % 2) + 10 * (k / 2) + partner);
  });
}

// A one-forward-one-backward exchange: every rank but the ends talks both ways, and nobody waits in the same
// order.
TEST(Overlap, PipelineOfMessagesUnderACollective) {
  for_each_world({2, 3, 4, 8}, [](World& world) {
    Communicator& group = world.communicator();
    const Tensor sum = coded_tensor(world.device(), 4000, DType::kF32, world.rank());
    Work late = group.all_reduce(sum, {});
    for (int k = 0; k < 10; ++k) {
      const Tensor x = world.device().allocate({100}, DType::kF32, MemoryKind::kActivations);
      if (world.rank() > 0) group.receive(x, world.rank() - 1, 0, {}).wait();
      if (world.rank() == 0) set_value(x, 99, k);
      set_value(x, 99, get_value(x, 99) + 1);
      Work sent;
      if (world.rank() + 1 < world.size()) sent = group.send(x, world.rank() + 1, 0, {});
      sent.wait();
      EXPECT_EQ(get_value(x, 99), k + world.rank() + 1);
    }
    late.wait();
    EXPECT_EQ(first_difference(sum, 0, 4000, [&](int64_t i) { return coded_sum(world.size(), i); }), -1);
  });
}

TEST(Overlap, ADroppedWorkIsWaitedFor) {
  for_each_world({2, 3, 4, 8}, [](World& world) {
    const Tensor x = coded_tensor(world.device(), 100, DType::kF32, world.rank());
    { const Work dropped = world.communicator().all_reduce(x, {}); }
    EXPECT_EQ(first_difference(x, 0, 100, [&](int64_t i) { return coded_sum(world.size(), i); }), -1);
    Work polled = world.communicator().barrier();
    while (!polled.done()) world.communicator().poll();
    polled.wait();
    polled.wait();
    Work().wait();
  });
}

TEST(Overlap, BuffersLiveUntilTheWorkIsDone) {
  for_each_world({2, 4, 8}, [](World& world) {
    const int64_t before = world.device().ledger().current(MemoryKind::kGradients);
    Work work =
        world.communicator().all_reduce(coded_tensor(world.device(), 1000, DType::kF32, world.rank()), {});
    work.wait();
    work = Work();
    EXPECT_EQ(world.device().ledger().current(MemoryKind::kGradients), before);
    EXPECT_EQ(world.device().ledger().current(MemoryKind::kCommunication), 0);
  });
}

}  // namespace
}  // namespace octant
