#include "core/profiling_backend.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/cpu/cpu_backend.h"

namespace octant {
namespace {

using Operation = ProfilingBackend::Operation;

class ProfilingBackendTest : public testing::Test {
 protected:
  void add_once() { backend_.add({}, {.n = 3, .a = a_.data(), .b = b_.data(), .out = sum_.data()}); }
  const ProfilingBackend::Total& total(Operation operation) const {
    return backend_.totals()[static_cast<size_t>(operation)];
  }

  ProfilingBackend backend_{cpu::make_backend({})};
  std::vector<float> a_ = {1, 2, 3}, b_ = {10, 20, 30}, sum_ = {0, 0, 0};
};

TEST_F(ProfilingBackendTest, CountsBetweenStartAndStopOnly) {
  add_once();
  EXPECT_EQ(sum_, (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(total(Operation::kAdd).calls, 0);
  backend_.start(100);
  add_once();
  add_once();
  backend_.set_zero({}, sum_.data(), 12);
  backend_.stop();
  add_once();
  EXPECT_EQ(total(Operation::kAdd).calls, 2);
  EXPECT_EQ(total(Operation::kAdd).cost.bytes, 2 * 3 * 12);
  EXPECT_EQ(total(Operation::kSetZero).calls, 1);
  EXPECT_GE(total(Operation::kAdd).seconds, 0);
  ASSERT_EQ(backend_.events().size(), 3u);
  EXPECT_EQ(backend_.events()[2].operation, Operation::kSetZero);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LE(backend_.events()[i].begin, backend_.events()[i].end);
    if (i > 0) {
      EXPECT_LE(backend_.events()[i - 1].end, backend_.events()[i].begin);
    }
  }
  backend_.start(100);
  EXPECT_EQ(total(Operation::kAdd).calls, 0);
  EXPECT_TRUE(backend_.events().empty());
}

TEST_F(ProfilingBackendTest, EventsPastTheLimitAreCountedAndNotKept) {
  backend_.start(2);
  for (int i = 0; i < 5; ++i) add_once();
  EXPECT_EQ(backend_.events().size(), 2u);
  EXPECT_EQ(backend_.lost_events(), 3);
  EXPECT_EQ(total(Operation::kAdd).calls, 5);
}

TEST_F(ProfilingBackendTest, TellsTheProductsOfALinearLayerApart) {
  const Matrix m{a_.data(), DType::kF32, 1, 1, 1}, c{sum_.data(), DType::kF32, 1, 1, 1};
  backend_.start(10);
  backend_.matmul({}, {.a = m, .b = m, .c = c, .transpose_b = true});
  backend_.matmul({}, {.a = m, .b = m, .c = c});
  backend_.matmul({}, {.a = m, .b = m, .c = c, .transpose_a = true});
  for (Operation part :
       {Operation::kMatmulForward, Operation::kMatmulInputGradient, Operation::kMatmulWeightGradient}) {
    EXPECT_EQ(total(part).calls, 1);
    EXPECT_EQ(total(part).cost.flops, 2);
  }
}

TEST_F(ProfilingBackendTest, EveryOperationHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < ProfilingBackend::kOperations; ++i)
    names.insert(ProfilingBackend::name(static_cast<Operation>(i)));
  EXPECT_EQ(names.size(), ProfilingBackend::kOperations);
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(ProfilingBackend::name(Operation::kSetZero), "set_zero");
}

}  // namespace
}  // namespace octant
