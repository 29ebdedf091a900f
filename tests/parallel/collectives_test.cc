#include <array>
#include <tuple>

#include "tests/parallel/values.h"
#include "tests/parallel/world_fixture.h"

namespace octant {
namespace {

constexpr std::array kDTypes = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64,
                                DType::kI64, DType::kI32,  DType::kU8};
constexpr std::array<int64_t, 7> kCounts = {0, 1, 3, 17, 64, 257, 5003};

void for_each_case(const std::function<void(World&, DType, int64_t)>& body) {
  for_each_world({1, 2, 3, 4, 5, 8}, [&](World& world) {
    for (const DType dtype : kDTypes)
      for (const int64_t count : kCounts) {
        SCOPED_TRACE(testing::Message() << name_of(dtype) << " x " << count << " on rank " << world.rank());
        body(world, dtype, count);
      }
  });
}

TEST(Collectives, AllReduce) {
  for_each_case([](World& world, DType dtype, int64_t count) {
    const int size = world.size();
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
      if (dtype == DType::kU8 && op == ReduceOp::kSum) continue;
      const Tensor x = coded_tensor(world.device(), count, dtype, world.rank());
      world.communicator().all_reduce(std::span(&x, 1), op, {}).wait();
      EXPECT_EQ(first_difference(x, 0, count,
                                 [&](int64_t i) {
                                   return op == ReduceOp::kSum ? coded_sum(size, i) : coded_max(size, i);
                                 }),
                -1);
    }
  });
}

TEST(Collectives, AllReduceOfAList) {
  for_each_world({1, 2, 3, 4, 5, 8}, [](World& world) {
    std::vector<Tensor> tensors;
    for (const auto& [count, dtype] : {std::pair{5, DType::kF32},
                                       {0, DType::kF32},
                                       {1, DType::kBF16},
                                       {130, DType::kF64},
                                       {33, DType::kI64}})
      tensors.push_back(coded_tensor(world.device(), count, dtype, world.rank()));
    world.communicator().all_reduce(tensors, ReduceOp::kSum, {}).wait();
    for (const Tensor& x : tensors)
      EXPECT_EQ(first_difference(x, 0, x.elements(), [&](int64_t i) { return coded_sum(world.size(), i); }),
                -1);
  });
}

TEST(Collectives, ReduceScatter) {
  for_each_case([](World& world, DType dtype, int64_t count) {
    if (dtype == DType::kU8) return;
    const int size = world.size();
    const int64_t stride = count + 3;  // padding between the pieces
    for (const bool accumulate : {false, true}) {
      const Tensor source = coded_tensor(world.device(), size * stride, dtype, world.rank());
      const Tensor target = coded_tensor(world.device(), count, dtype, 0);
      const ReduceScatterPiece piece{source, stride, count, target, accumulate};
      world.communicator().reduce_scatter(std::span(&piece, 1), {}).wait();
      EXPECT_EQ(first_difference(target, 0, count,
                                 [&](int64_t i) {
                                   return coded_sum(size, world.rank() * stride + i) +
                                          (accumulate ? coded(0, i) : 0);
                                 }),
                -1);
    }
  });
}

TEST(Collectives, ReduceScatterIntoItsOwnPieceAndIntoF32) {
  for_each_world({1, 2, 3, 4, 5, 8}, [](World& world) {
    const int64_t count = 37;
    const Tensor in_place = coded_tensor(world.device(), world.size() * count, DType::kBF16, world.rank());
    const Tensor widened = coded_tensor(world.device(), world.size() * count, DType::kF16, world.rank());
    const Tensor sum = world.device().allocate({count}, DType::kF32, MemoryKind::kGradients);
    const std::array pieces = {
        ReduceScatterPiece{in_place, count, count, in_place.flat(world.rank() * count, count), false},
        ReduceScatterPiece{widened, count, count, sum, false}};
    world.communicator().reduce_scatter(pieces, {}).wait();
    const auto expected = [&](int64_t i) { return coded_sum(world.size(), world.rank() * count + i); };
    EXPECT_EQ(first_difference(in_place, world.rank() * count, count, expected), -1);
    EXPECT_EQ(first_difference(sum, 0, count, expected), -1);
  });
}

TEST(Collectives, AllGather) {
  for_each_case([](World& world, DType dtype, int64_t count) {
    const int64_t stride = count + 2;
    const Tensor source = coded_tensor(world.device(), count, dtype, world.rank());
    const Tensor target =
        world.device().allocate_zeroed({world.size() * stride}, dtype, MemoryKind::kParameters);
    const Tensor in_place =
        world.device().allocate_zeroed({world.size() * stride}, dtype, MemoryKind::kParameters);
    const Tensor own = in_place.flat(world.rank() * stride, count);
    for (int64_t i = 0; i < count; ++i) set_value(own, i, coded(world.rank(), i));
    const std::array pieces = {AllGatherPiece{source, target, stride, count},
                               AllGatherPiece{own, in_place, stride, count}};
    world.communicator().all_gather(pieces, {}).wait();
    for (int q = 0; q < world.size(); ++q)
      for (const Tensor& gathered : {target, in_place}) {
        EXPECT_EQ(first_difference(gathered, q * stride, count, [&](int64_t i) { return coded(q, i); }), -1);
        EXPECT_EQ(first_difference(gathered, q * stride + count, 2, [](int64_t) { return 0.0; }), -1)
            << "padding was written";
      }
  });
}

TEST(Collectives, BroadcastFromEveryRoot) {
  for_each_case([](World& world, DType dtype, int64_t count) {
    for (int root = 0; root < world.size(); ++root) {
      const Tensor x = coded_tensor(world.device(), count, dtype, world.rank());
      world.communicator().broadcast(x, root, {}).wait();
      EXPECT_EQ(first_difference(x, 0, count, [&](int64_t i) { return coded(root, i); }), -1);
    }
  });
}

TEST(Collectives, AllToAll) {
  for_each_case([](World& world, DType dtype, int64_t count) {
    const Tensor input =
        coded_tensor(world.device(), world.size() * count, dtype, world.rank()).view({world.size(), count});
    const Tensor output = world.device().allocate({world.size(), count}, dtype, MemoryKind::kActivations);
    world.communicator().all_to_all(input, output, {}).wait();
    for (int q = 0; q < world.size(); ++q)
      EXPECT_EQ(first_difference(output, q * count, count,
                                 [&](int64_t i) { return coded(q, world.rank() * count + i); }),
                -1);
  });
}

TEST(Collectives, RingOfMessages) {
  for_each_case([](World& world, DType dtype, int64_t count) {
    const int next = (world.rank() + 1) % world.size();
    const int before = (world.rank() + world.size() - 1) % world.size();
    const Tensor out = coded_tensor(world.device(), count, dtype, world.rank());
    const Tensor in = world.device().allocate({count}, dtype, MemoryKind::kActivations);
    Work received = world.communicator().receive(in, before, 1, {});
    Work sent = world.communicator().send(out, next, 1, {});
    sent.wait();
    received.wait();
    EXPECT_EQ(first_difference(in, 0, count, [&](int64_t i) { return coded(before, i); }), -1);
  });
}

TEST(Collectives, HostScalars) {
  for_each_world({1, 2, 3, 4, 5, 8}, [](World& world) {
    Communicator& group = world.communicator();
    const int size = world.size();
    std::array<double, 2> values = {world.rank() + 0.5, -world.rank() * 1.0};
    group.all_reduce(values, ReduceOp::kSum);
    EXPECT_EQ(values[0], size * (size - 1) / 2 + 0.5 * size);
    values = {world.rank() * 1.0, -world.rank() * 1.0};
    group.all_reduce(values, ReduceOp::kMax);
    EXPECT_EQ(values[0], size - 1);
    EXPECT_EQ(values[1], 0.0);
    std::array<int64_t, 1> counts = {(int64_t{1} << 53) + 1};
    group.all_reduce(counts, ReduceOp::kSum);
    EXPECT_EQ(counts[0], size * ((int64_t{1} << 53) + 1));
    group.all_reduce(std::span<double>{}, ReduceOp::kSum);

    const std::array<double, 2> mine = {world.rank() * 10.0, world.rank() * 10.0 + 1};
    const std::vector<double> all = group.all_gather(mine);
    ASSERT_EQ(all.size(), 2u * static_cast<size_t>(size));
    for (int q = 0; q < size; ++q) EXPECT_EQ(all[2 * static_cast<size_t>(q) + 1], q * 10.0 + 1);

    const std::vector<std::string> texts =
        group.all_gather(std::string(static_cast<size_t>(world.rank()) * 1000, 'x'));
    ASSERT_EQ(texts.size(), static_cast<size_t>(size));
    for (int q = 0; q < size; ++q)
      EXPECT_EQ(texts[static_cast<size_t>(q)].size(), static_cast<size_t>(q) * 1000);
  });
}

TEST(Collectives, ManyRoundsKeepTheirOrder) {
  for_each_world({2, 3, 4, 8}, [](World& world) {
    const Tensor x = world.device().allocate({33}, DType::kI64, MemoryKind::kActivations);
    for (int round = 0; round < 300; ++round) {
      for (int64_t i = 0; i < 33; ++i) set_value(x, i, round + world.rank());
      world.communicator().all_reduce(x, {}).wait();
      const int size = world.size();
      ASSERT_EQ(get_value(x, round % 33), round * size + size * (size - 1) / 2);
    }
  });
}

}  // namespace
}  // namespace octant
