#include <array>

#include "tests/parallel/values.h"
#include "tests/parallel/world_fixture.h"

namespace octant {
namespace {

TEST(TrafficLedger, CountsWhatADirectExchangeSends) {
  for_each_world({1, 2, 3, 4, 5, 8}, [](World& world) {
    Communicator& group = world.communicator();
    const int64_t n = world.size();
    const int64_t count = 11;
    const Tensor whole = coded_tensor(world.device(), n * count, DType::kBF16, world.rank());
    const Tensor shard = whole.flat(world.rank() * count, count);
    const ReduceScatterPiece scattered{whole, count, count, shard, false};
    const AllGatherPiece gathered{shard, whole, count, count};
    group.reduce_scatter(std::span(&scattered, 1), {.purpose = "gradients"}).wait();
    group.all_gather(std::span(&gathered, 1), {.purpose = "parameters"}).wait();
    group.all_reduce(whole, {.purpose = "sums"}).wait();
    group.broadcast(whole, 0, {.purpose = "start"}).wait();
    group
        .all_to_all(whole.view({n, count}),
                    coded_tensor(world.device(), n * count, DType::kBF16, 0).view({n, count}),
                    {.purpose = "experts"})
        .wait();
    group.barrier().wait();
    std::array<double, 1> scalar = {1};
    group.all_reduce(scalar, ReduceOp::kSum);

    const TrafficLedger& ledger = world.traffic();
    const auto expect = [&](const char* purpose, int64_t elements) {
      const TrafficRow row = ledger.total("world", purpose);
      EXPECT_EQ(row.calls, 1) << purpose;
      EXPECT_EQ(row.elements, elements) << purpose;
      EXPECT_EQ(row.bytes, 2 * elements) << purpose;
    };
    expect("gradients", (n - 1) * count);
    expect("parameters", (n - 1) * count);
    expect("sums", 2 * (n - 1) * count);
    expect("start", world.rank() == 0 ? (n - 1) * n * count : 0);
    expect("experts", (n - 1) * count);
    EXPECT_EQ(ledger.total("world", "control").calls, 2);
    EXPECT_EQ(ledger.total("data", "").calls, 0);
    EXPECT_EQ(ledger.total("", "").calls, 7);
    EXPECT_EQ(ledger.rows().at({"world", Collective::kReduceScatter, "gradients"}).elements, (n - 1) * count);
  });
}

TEST(TrafficLedger, SharesOfAnAllReduceAddUpToTheWhole) {
  for_each_world({2, 3, 4, 5, 8}, [](World& world) {
    for (const int64_t count : {1, 7, 97}) {
      world.traffic().clear();
      const Tensor x = coded_tensor(world.device(), count, DType::kF32, world.rank());
      world.communicator().all_reduce(x, {.purpose = "sums"}).wait();
      std::array<int64_t, 1> sent = {world.traffic().total("", "sums").elements};
      world.communicator().all_reduce(sent, ReduceOp::kSum);
      EXPECT_EQ(sent[0], 2 * (world.size() - 1) * count);
    }
  });
}

TEST(TrafficLedger, SendsCountAtTheSender) {
  for_each_world({2, 4, 8}, [](World& world) {
    const Tensor x = coded_tensor(world.device(), 9, DType::kF32, world.rank());
    if (world.rank() == 0) world.communicator().send(x, 1, 0, {.purpose = "activations"}).wait();
    if (world.rank() == 1) world.communicator().receive(x, 0, 0, {.purpose = "activations"}).wait();
    EXPECT_EQ(world.traffic().total("world", "activations").bytes, world.rank() == 0 ? 36 : 0);
    EXPECT_EQ(world.traffic().total("world", "activations").calls, world.rank() < 2 ? 1 : 0);
  });
}

}  // namespace
}  // namespace octant
