// What the words "in rank order" promise: one set of bits for every cut, every layout of pieces and every
// collective.
#include <array>
#include <cstring>
#include <random>

#include "tests/parallel/values.h"
#include "tests/parallel/world_fixture.h"

namespace octant {
namespace {

Tensor uneven_tensor(Device& device, int64_t count, int rank) {
  const Tensor x = device.allocate({count}, DType::kF32, MemoryKind::kGradients);
  for (int64_t i = 0; i < count; ++i) x.as<float>()[i] = uneven(rank, i);
  return x;
}

float serial_sum(int ranks, int64_t index) {
  float sum = uneven(0, index);
  for (int rank = 1; rank < ranks; ++rank) sum += uneven(rank, index);
  return sum;
}

bool same_bits(float a, float b) {
  return std::memcmp(&a, &b, sizeof(float)) == 0;
}

TEST(RankOrder, AllReduceAddsSerially) {
  for_each_world({1, 2, 3, 4, 5, 8}, [](World& world) {
    for (const int64_t count : {1, 15, 16, 17, 100, 1031}) {
      const Tensor x = uneven_tensor(world.device(), count, world.rank());
      world.communicator().all_reduce(x, {}).wait();
      for (int64_t i = 0; i < count; ++i)
        ASSERT_TRUE(same_bits(x.as<float>()[i], serial_sum(world.size(), i))) << i;
    }
  });
}

TEST(RankOrder, EveryCutOfAReduceScatterGivesTheSameBits) {
  for_each_world({1, 2, 3, 4, 5, 8}, [](World& world) {
    const int64_t shard = 211;
    const int64_t total = shard * world.size();
    std::mt19937 random(11);
    for (int trial = 0; trial < 6; ++trial) {
      const Tensor source = uneven_tensor(world.device(), total, world.rank());
      const Tensor target = world.device().allocate_zeroed({shard}, DType::kF32, MemoryKind::kGradients);
      // The shard in random sub-ranges, each a piece of its own, some operations with several.
      std::vector<ReduceScatterPiece> pieces;
      for (int64_t begin = 0; begin < shard;) {
        const int64_t count = std::min<int64_t>(shard - begin, 1 + static_cast<int64_t>(random() % 90));
        pieces.push_back(
            {source.flat(begin, total - begin), shard, count, target.flat(begin, count), trial % 2 == 1});
        begin += count;
      }
      const size_t middle = pieces.size() / 2;
      Work first = world.communicator().reduce_scatter(std::span(pieces).first(middle), {});
      Work second = world.communicator().reduce_scatter(std::span(pieces).subspan(middle), {});
      second.wait();
      first.wait();
      for (int64_t i = 0; i < shard; ++i)
        ASSERT_TRUE(
            same_bits(target.as<float>()[i], serial_sum(world.size(), world.rank() * shard + i) + 0.0f))
            << i;
    }
  });
}

TEST(RankOrder, SixteenBitSumsRoundOnce) {
  for_each_world({3, 4, 8}, [](World& world) {
    // 1 + 2^-8 + 2^-8 rounds to 1 after each step in bf16, and to 1 + 2^-7 when rounded once.
    const Tensor x = world.device().allocate({1}, DType::kBF16, MemoryKind::kGradients);
    x.as<uint16_t>()[0] = world.rank() == 0 ? 0x3f80 : world.rank() < 3 ? 0x3b80 : 0;
    world.communicator().all_reduce(x, {}).wait();
    EXPECT_EQ(x.as<uint16_t>()[0], 0x3f81);
  });
}

TEST(RankOrder, HostScalarsAddSerially) {
  for_each_world({2, 3, 4, 5, 8}, [](World& world) {
    std::array<double, 3> values{};
    for (int i = 0; i < 3; ++i) values[static_cast<size_t>(i)] = uneven(world.rank(), i) * 1e-3;
    world.communicator().all_reduce(values, ReduceOp::kSum);
    for (int i = 0; i < 3; ++i) {
      double sum = uneven(0, i) * 1e-3;
      for (int q = 1; q < world.size(); ++q) sum += uneven(q, i) * 1e-3;
      EXPECT_EQ(values[static_cast<size_t>(i)], sum);
    }
  });
}

}  // namespace
}  // namespace octant
