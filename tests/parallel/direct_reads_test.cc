// Whether bytes are read in place or come as messages must not show in a single bit, on either side of the
// size from which they are read. On threads both runs are the same; there the sums are checked alone.
#include <array>
#include <cstring>
#include <string>

#include "core/error.h"
#include "tests/parallel/values.h"
#include "tests/parallel/world_fixture.h"

namespace octant {
namespace {

// 16384 bytes are the first that are read in place; the last takes several chunks of a sum from each peer.
constexpr std::array<int64_t, 7> kCounts = {2, 5, 4095, 4096, 4097, 16411, 300007};

// Values whose sums depend on the order of adding, in whatever dtype.
Tensor uneven_tensor(Device& device, int64_t count, DType dtype, int rank) {
  const Tensor x = device.allocate({count}, dtype, MemoryKind::kGradients);
  for (int64_t i = 0; i < count; ++i) {
    const float value = uneven(rank, i);
    switch (dtype) {
      case DType::kF64:
        x.as<double>()[i] = value / 3.0;
        break;
      case DType::kI32:
        x.as<int32_t>()[i] = static_cast<int32_t>(value * 3e4f);
        break;
      case DType::kI64:
        x.as<int64_t>()[i] = static_cast<int64_t>(value * 1e12);
        break;
      case DType::kU8:
        x.as<uint8_t>()[i] = static_cast<uint8_t>(static_cast<int32_t>(value * 7));
        break;
      case DType::kF32:
        x.as<float>()[i] = value;
        break;
      default:
        set_value(x, i, static_cast<int>(value) % 120);
    }
  }
  return x;
}

void keep(std::string& all, const Tensor& x) {
  all.append(static_cast<const char*>(x.data()), static_cast<size_t>(x.bytes()));
}

// Everything that this rank ends up with when every operation has run on one count and dtype.
std::string results(World& world, int64_t count, DType dtype) {
  Communicator& group = world.communicator();
  Device& device = world.device();
  const int size = world.size(), rank = world.rank();
  const auto mine = [&](int64_t elements) { return uneven_tensor(device, elements, dtype, rank); };
  const auto empty = [&](int64_t elements) {
    return device.allocate_zeroed({elements}, dtype, MemoryKind::kGradients);
  };
  std::string all;
  std::vector<Work> works;

  const std::array summed = {mine(count), mine(3), mine(count / 2 + 1)};
  works.push_back(group.all_reduce(summed, dtype == DType::kU8 ? ReduceOp::kMax : ReduceOp::kSum, {}));
  const std::array largest = {mine(count)};
  works.push_back(group.all_reduce(largest, ReduceOp::kMax, {}));

  const int64_t stride = count + 7;
  const Tensor source = mine(size * stride), target = empty(count), in_place = mine(size * stride);
  if (dtype != DType::kU8) {
    const std::array pieces = {
        ReduceScatterPiece{source, stride, count, target, true},
        ReduceScatterPiece{source, 0, 0, target, false},
        ReduceScatterPiece{in_place, stride, count, in_place.flat(rank * stride, count), false}};
    works.push_back(group.reduce_scatter(pieces, {}));
  }

  const Tensor shard = mine(count), gathered = empty(size * stride), second = empty(size * stride);
  const std::array gathers = {AllGatherPiece{shard, gathered, stride, count},
                              AllGatherPiece{shard, second, stride, count / 3}};
  works.push_back(group.all_gather(gathers, {}));

  const Tensor spread = mine(count);
  works.push_back(group.broadcast(spread, size - 1, {}));
  const Tensor input = mine(size * count).view({size, count}), output = empty(size * count);
  works.push_back(group.all_to_all(input, output.view({size, count}), {}));

  // Long and short messages of one tag, both ways at once, waited for last first.
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  const Tensor out = mine(count);
  std::vector<Tensor> in;
  for (const int64_t length : {count, int64_t{1}, count, int64_t{2}}) {
    in.push_back(empty(length));
    works.push_back(group.receive(in.back(), before, 4, {}));
    works.push_back(group.send(out.flat(0, length), next, 4, {}));
  }
  while (!works.empty()) {
    works.back().wait();
    works.pop_back();
  }
  for (const Tensor& x : summed) keep(all, x);
  for (const Tensor& x : {largest[0], target, in_place, gathered, second, spread, output}) keep(all, x);
  for (const Tensor& x : in) keep(all, x);
  return all;
}

TEST(DirectReads, EqualMessagesBitForBit) {
  for (const int size : {1, 2, 3, 4, 8}) {
    std::array<std::vector<std::string>, 2> bits;  // of rank 0 on threads, of this rank on mpi
    for (const bool direct : {true, false}) {
      const Ran world =
          run_world(size, {.collective_timeout_seconds = 60, .direct_reads = direct}, [&](World& w) {
            if (w.transport() == "mpi" && size > 1) {
              EXPECT_EQ(w.transfers() == "messages: direct reads are switched off", !direct) << w.transfers();
            }
            for (const DType dtype :
                 {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI64, DType::kI32, DType::kU8})
              for (const int64_t count : kCounts) {
                if (count > 100000 && dtype != DType::kF32 && dtype != DType::kBF16) continue;
                std::string mine = results(w, count, dtype);
                if (w.transport() == "mpi" || w.rank() == 0) bits[direct ? 0 : 1].push_back(std::move(mine));
              }
          });
      EXPECT_EQ(world.result.exit_code, 0) << world.result.message;
    }
    ASSERT_EQ(bits[0].size(), bits[1].size());
    for (size_t i = 0; i < bits[0].size(); ++i) EXPECT_TRUE(bits[0][i] == bits[1][i]) << "case " << i;
  }
}

TEST(DirectReads, LongSumsAddSerially) {
  for_each_world({2, 3, 4, 8}, [](World& world) {
    const int64_t count = 150001;
    const Tensor x = uneven_tensor(world.device(), count, DType::kF32, world.rank());
    world.communicator().all_reduce(x, {}).wait();
    for (int64_t i = 0; i < count; ++i) {
      float sum = uneven(0, i);
      for (int rank = 1; rank < world.size(); ++rank) sum += uneven(rank, i);
      ASSERT_EQ(std::memcmp(&x.as<float>()[i], &sum, sizeof(sum)), 0) << i;
    }
  });
}

// Slices of several rounds, cut inside tensors, with small ones between: a round is summed while the next is
// on its way.
TEST(DirectReads, RoundsOfMessagesAddInRankOrder) {
  for (const int size : {2, 3}) {
    const Ran world =
        run_world(size, {.collective_timeout_seconds = 60, .direct_reads = false}, [&](World& w) {
          Communicator& group = w.communicator();
          Device& device = w.device();
          const std::array<int64_t, 4> counts = {3000001, 7, 1500017, 2600003};
          std::array<Tensor, 4> tensors;
          for (size_t t = 0; t < counts.size(); ++t)
            tensors[t] = uneven_tensor(device, counts[t], DType::kF32, w.rank());
          const int64_t count = 4200011, stride = count + 3;
          const Tensor source = uneven_tensor(device, size * stride, DType::kF32, w.rank());
          const Tensor sums = device.allocate_zeroed({count}, DType::kF32, MemoryKind::kGradients);
          Work reduced = group.all_reduce(tensors, ReduceOp::kSum, {});
          group.reduce_scatter(std::array{ReduceScatterPiece{source, stride, count, sums, true}}, {}).wait();
          reduced.wait();
          const auto sum_of = [&](int64_t i) {
            float sum = uneven(0, i);
            for (int rank = 1; rank < size; ++rank) sum += uneven(rank, i);
            return sum;
          };
          for (size_t t = 0; t < counts.size(); ++t)
            for (int64_t i = 0; i < counts[t]; ++i)
              if (tensors[t].as<float>()[i] != sum_of(i)) FAIL() << "tensor " << t << ", element " << i;
          for (int64_t i = 0; i < count; ++i)
            if (sums.as<float>()[i] != sum_of(w.rank() * stride + i)) FAIL() << "element " << i;
        });
    EXPECT_EQ(world.result.exit_code, 0) << world.result.message;
  }
}

TEST(DirectReads, ALongMessageOfAnotherSizeIsNamed) {
  for (const int size : {2, 4, 8}) {
    const Ran ended = run_world(size, {}, [](World& world) {
      const Tensor x = coded_tensor(world.device(), world.rank() == 0 ? 90000 : 80000, DType::kF32, 0);
      if (world.rank() == 1) {
        EXPECT_THROW(
            {
              try {
                world.communicator().receive(x, 0, 0, {.purpose = "activations"}).wait();
              } catch (const BugError& error) {
                EXPECT_NE(std::string(error.what()).find("receive of 80000 f32 (activations)"),
                          std::string::npos)
                    << error.what();
                throw;
              }
            },
            BugError);
        throw BugError("as told");
      }
      if (world.rank() == 0) world.communicator().send(x, 1, 0, {.purpose = "activations"}).wait();
      world.communicator().barrier().wait();
    });
    EXPECT_EQ(ended.result.exit_code, ended.ran ? 1 : 0);
  }
}

// A peer that ends while its buffers are offered: whoever still waits for it is told, and nobody hangs.
TEST(DirectReads, AFailureEndsOperationsThatReadOneAnother) {
  for (const int size : {2, 3, 4, 8}) {
    const Ran ended = run_world(size, {.collective_timeout_seconds = 60}, [](World& world) {
      Communicator& group = world.communicator();
      std::vector<Tensor> tensors;
      std::vector<Work> works;
      for (int k = 0; k < 4; ++k) {
        tensors.push_back(coded_tensor(world.device(), 200003, DType::kF32, world.rank()));
        works.push_back(group.all_reduce(tensors.back(), {}));
      }
      if (world.rank() == 1) throw DataError("the disk is gone");
      for (Work& work : works) work.wait();
      group.barrier().wait();
    });
    if (!ended.ran) continue;
    EXPECT_EQ(ended.result.exit_code, 3);
    EXPECT_EQ(ended.result.message, "the disk is gone");
  }
}

#ifndef OCTANT_TEST_MPI
// Far more ranks than cores: waiting ranks must give their cores away.
TEST(DirectReads, SixteenThreadsOnFewCores) {
  for_each_world({16}, [](World& world) {
    for (int round = 0; round < 100; ++round) {
      const Tensor x = coded_tensor(world.device(), 33, DType::kI64, world.rank());
      world.communicator().all_reduce(x, {}).wait();
      ASSERT_EQ(first_difference(x, 0, 33, [](int64_t i) { return coded_sum(16, i); }), -1);
      std::array<double, 1> scalar = {1.0};
      world.communicator().all_reduce(scalar, ReduceOp::kSum);
      ASSERT_EQ(scalar[0], 16.0);
    }
  });
}
#endif

}  // namespace
}  // namespace octant
