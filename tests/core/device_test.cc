#include "core/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "core/cpu/cpu_backend.h"
#include "core/error.h"

// A refused request is a case of these tests, which AddressSanitizer would otherwise end the program for.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace octant {
namespace {

TEST(Device, ChargesExactBytesAndGivesThemBack) {
  Device device(cpu::make_backend({}), 0);
  {
    const Tensor odd = device.allocate({3, 7}, DType::kBF16, MemoryKind::kActivations);
    EXPECT_EQ(device.ledger().current(MemoryKind::kActivations), 42);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(odd.data()) % 64, 0u);
    const Tensor same = odd.view({21});
    EXPECT_EQ(device.ledger().current_total(), 42);
  }
  EXPECT_EQ(device.ledger().current_total(), 0);
  EXPECT_EQ(device.ledger().peak_total(), 42);
}

// What operations keep to work in counts too, within the budget.
TEST(Device, WorkspaceOfOperationsIsCharged) {
  const auto multiply = [](Device& device) {
    constexpr int64_t kSize = 64;
    const Tensor a = device.allocate_zeroed({kSize, kSize}, DType::kF16, MemoryKind::kActivations);
    const Tensor c = device.allocate({kSize, kSize}, DType::kF16, MemoryKind::kActivations);
    const auto matrix = [](const Tensor& t) { return Matrix{t.data(), t.dtype(), kSize, kSize, kSize}; };
    device.ops().matmul(device.compute(), {.a = matrix(a), .b = matrix(a), .c = matrix(c)});
  };
  Device device(cpu::make_backend({}), 0);
  multiply(device);
  // F16 is widened on CPUs: three f32 matrices at least.
  EXPECT_GE(device.ledger().current(MemoryKind::kWorkspace), 3 * 64 * 64 * 4);
  const int64_t peak = device.ledger().peak_total();
  multiply(device);
  EXPECT_EQ(device.ledger().peak_total(), peak);
  Device small(cpu::make_backend({}), 20000);
  EXPECT_THROW(multiply(small), MemoryError);
}

TEST(Device, SteadyStateTakesNoMoreOfTheSystem) {
  Device device(cpu::make_backend({}), 0);
  const auto step = [&] {
    const Tensor a = device.allocate({1000}, DType::kF32, MemoryKind::kActivations);
    const Tensor b = device.allocate({999}, DType::kF32, MemoryKind::kGradients);
    const Tensor c = device.allocate({70000}, DType::kBF16, MemoryKind::kWorkspace);
    EXPECT_NE(a.data(), b.data());
  };
  step();
  const int64_t warm = device.arena_bytes();
  EXPECT_GE(warm, 4000 + 3996 + 140000);
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(device.arena_bytes(), warm);
}

// Every size writes its own last byte while all are alive: blocks neither overlap nor are too short.
TEST(Device, BlocksHoldTheirTensors) {
  Device device(cpu::make_backend({}), 0);
  std::vector<Tensor> tensors;
  for (int64_t size = 0; size < 3000; size += 7) {
    tensors.push_back(device.allocate({size}, DType::kU8, MemoryKind::kData));
    for (int64_t i = 0; i < size; ++i) tensors.back().as<uint8_t>()[i] = static_cast<uint8_t>(size);
  }
  for (const Tensor& tensor : tensors) {
    for (int64_t i = 0; i < tensor.elements(); ++i)
      ASSERT_EQ(tensor.as<uint8_t>()[i], static_cast<uint8_t>(tensor.elements()));
  }
}

TEST(Device, BudgetStopsTheAllocationAndNothingElse) {
  Device device(cpu::make_backend({}), 4096);
  const Tensor kept = device.allocate({1000}, DType::kF32, MemoryKind::kParameters);
  EXPECT_THROW(device.allocate({25}, DType::kF32, MemoryKind::kActivations), MemoryError);
  EXPECT_EQ(device.ledger().current_total(), 4000);
  EXPECT_NO_THROW(device.allocate({24}, DType::kF32, MemoryKind::kActivations));
}

TEST(Device, SystemRefusalIsAMemoryErrorAndIsNotCharged) {
  Device device(cpu::make_backend({}), 0);
  EXPECT_THROW(device.allocate({int64_t{1} << 60}, DType::kU8, MemoryKind::kData), MemoryError);
  EXPECT_THROW(device.allocate({int64_t{1} << 40, int64_t{1} << 40}, DType::kF32, MemoryKind::kData),
               MemoryError);
  EXPECT_EQ(device.ledger().current_total(), 0);
  EXPECT_NO_THROW(device.allocate({8}, DType::kF32, MemoryKind::kData));
}

TEST(Device, EmptyTensors) {
  Device device(cpu::make_backend({}), 1);
  const Tensor empty = device.allocate_zeroed({0, 5}, DType::kF32, MemoryKind::kData);
  EXPECT_TRUE(empty.defined());
  EXPECT_EQ(empty.bytes(), 0);
  EXPECT_EQ(empty.narrow(0, 0).elements(), 0);
  EXPECT_EQ(device.ledger().current_total(), 0);
}

TEST(Device, ZeroedMemoryIsZeroOnReuse) {
  Device device(cpu::make_backend({}), 0);
  {
    const Tensor dirty = device.allocate({100}, DType::kF32, MemoryKind::kData);
    for (int i = 0; i < 100; ++i) dirty.as<float>()[i] = 5.0f;
  }
  const Tensor clean = device.allocate_zeroed({100}, DType::kF32, MemoryKind::kData);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(clean.as<float>()[i], 0.0f);
}

TEST(Device, ATensorMayOutliveIt) {
  std::optional<Device> device(std::in_place, cpu::make_backend({}), 0);
  Tensor survivor = device->allocate({10}, DType::kF32, MemoryKind::kData);
  device.reset();
  survivor.as<float>()[9] = 1.0f;
  EXPECT_EQ(survivor.as<float>()[9], 1.0f);
  survivor.reset();
}

TEST(Device, BadOptionsAreUserErrors) {
  EXPECT_THROW(cpu::make_backend({.threads = 0}), UserError);
  EXPECT_THROW(Device(cpu::make_backend({}), -1), UserError);
}

TEST(Tensor, ViewsShareStorage) {
  Device device(cpu::make_backend({}), 0);
  const Tensor x = device.allocate_zeroed({4, 3, 2}, DType::kI32, MemoryKind::kData);
  for (int i = 0; i < 24; ++i) x.as<int32_t>()[i] = i;
  const Tensor rows = x.narrow(1, 2);
  EXPECT_EQ(rows.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(rows.as<int32_t>()[0], 6);
  EXPECT_EQ(rows.narrow(1, 1).view({6}).as<int32_t>()[5], 17);
  EXPECT_EQ(x.flat(7, 5).as<int32_t>()[4], 11);
  EXPECT_EQ(rows.flat(1, 2).as<int32_t>()[0], 7);
  EXPECT_EQ(x.narrow(4, 0).elements(), 0);
  rows.as<int32_t>()[0] = -1;
  EXPECT_EQ(x.as<int32_t>()[6], -1);
}

TEST(Tensor, ViewsOutsideAreBugs) {
  Device device(cpu::make_backend({}), 0);
  const Tensor x = device.allocate({4, 3}, DType::kF32, MemoryKind::kData);
  EXPECT_THROW(x.narrow(3, 2), BugError);
  EXPECT_THROW(x.narrow(-1, 1), BugError);
  EXPECT_THROW(x.narrow(1, INT64_MAX), BugError);
  EXPECT_THROW(x.view({5, 2}), BugError);
  EXPECT_THROW(x.flat(12, 1), BugError);
  EXPECT_THROW(x.as<double>(), BugError);
  EXPECT_THROW(device.allocate({}, DType::kF32, MemoryKind::kData).narrow(0, 1), BugError);
}

}  // namespace
}  // namespace octant
