// Messages beyond 2^31 bytes. They need several GiB, so they run only where OCTANT_TEST_LARGE is set; the cut
// into messages that mpi can count is crossed by the plain test below.
#include <cstdlib>

#include "tests/parallel/values.h"
#include "tests/parallel/world_fixture.h"

namespace octant {
namespace {

uint8_t coded_byte(int rank, int64_t index) {
  return static_cast<uint8_t>(index * 31 + (index >> 20) + rank * 57);
}

// Checks the ends and a sparse set of bytes between, those around every 2^26 and 2^31 among them.
void check_bytes(const Tensor& x, int64_t begin, int64_t count,
                 const std::function<uint8_t(int64_t)>& expected) {
  const uint8_t* bytes = x.as<uint8_t>() + begin;
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i += 4093) wrong += bytes[i] != expected(i);
  for (int64_t cut = 0; cut < count; cut += int64_t{1} << 26)
    for (int64_t i = std::max<int64_t>(0, cut - 2); i < std::min(count, cut + 3); ++i)
      wrong += bytes[i] != expected(i);
  for (int64_t i = std::max<int64_t>(0, count - 5); i < count; ++i) wrong += bytes[i] != expected(i);
  EXPECT_EQ(wrong, 0);
}

Tensor bytes_of(Device& device, int64_t count, int rank) {
  const Tensor x = device.allocate({count}, DType::kU8, MemoryKind::kWorkspace);
  uint8_t* bytes = x.as<uint8_t>();
  for (int64_t i = 0; i < count; ++i) bytes[i] = coded_byte(rank, i);
  return x;
}

void exchange(World& world, int64_t count) {
  Communicator& group = world.communicator();
  const int partner = world.rank() ^ 1;
  if (partner < world.size()) {
    const Tensor out = bytes_of(world.device(), count, world.rank());
    const Tensor in = world.device().allocate({count}, DType::kU8, MemoryKind::kWorkspace);
    Work received = group.receive(in, partner, 0, {});
    group.send(out, partner, 0, {}).wait();
    received.wait();
    check_bytes(in, 0, count, [&](int64_t i) { return coded_byte(partner, i); });
  }
  {
    const Tensor x = bytes_of(world.device(), count, world.rank());
    group.broadcast(x, world.size() - 1, {}).wait();
    check_bytes(x, 0, count, [&](int64_t i) { return coded_byte(world.size() - 1, i); });
  }
  {
    const Tensor x = bytes_of(world.device(), count, world.rank());
    group.all_reduce(std::span(&x, 1), ReduceOp::kMax, {}).wait();
    check_bytes(x, 0, count, [&](int64_t i) {
      uint8_t most = 0;
      for (int q = 0; q < world.size(); ++q) most = std::max(most, coded_byte(q, i));
      return most;
    });
  }
  if (world.size() == 2) {  // more ranks would gather more than most machines hold
    const Tensor mine = bytes_of(world.device(), count, world.rank());
    const Tensor all = world.device().allocate({world.size() * count}, DType::kU8, MemoryKind::kWorkspace);
    const AllGatherPiece piece{mine, all, count, count};
    group.all_gather(std::span(&piece, 1), {}).wait();
    for (int q = 0; q < world.size(); ++q)
      check_bytes(all, q * count, count, [&](int64_t i) { return coded_byte(q, i); });
  }
}

TEST(C42_LargeMessages, CrossTheCutIntoMessages) {
  for_each_world({2}, [](World& world) { exchange(world, (int64_t{64} << 20) + 3); });
}

TEST(C42_LargeMessages, BeyondTwoGiB) {
  if (std::getenv("OCTANT_TEST_LARGE") == nullptr)
    GTEST_SKIP() << "needs some 17 GiB; set OCTANT_TEST_LARGE=1 to run it";
  for (const int64_t count : {(int64_t{1} << 31) - 1, int64_t{1} << 31, (int64_t{1} << 31) + 3})
    for_each_world({2, 3}, [&](World& world) { exchange(world, count); });
}

}  // namespace
}  // namespace octant
