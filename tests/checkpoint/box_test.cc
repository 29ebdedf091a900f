#include "checkpoint/box.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace octant {
namespace {

Shape shape_from(const std::vector<int64_t>& sizes) {
  Shape shape;
  for (int64_t size : sizes) shape.append(size);
  return shape;
}

// Flat index in the global tensor of each element of the range, one by one.
std::vector<int64_t> naive_elements(const SliceRange& range, const Shape& global) {
  std::vector<int64_t> elements;
  for (int64_t flat = range.begin; flat < range.end; ++flat) {
    int64_t rest = flat, index = 0, stride = 1;
    for (int dim = global.dims() - 1; dim >= 0; --dim) {
      index += (rest % range.box.size[dim] + range.box.offset[dim]) * stride;
      rest /= range.box.size[dim];
      stride *= global[dim];
    }
    elements.push_back(index);
  }
  return elements;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t upto(int64_t most) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(most + 1)); }

  Shape shape() {
    std::vector<int64_t> sizes(static_cast<size_t>(upto(4)));
    for (int64_t& size : sizes) size = 1 + upto(6);
    return shape_from(sizes);
  }
  SliceRange range(const Shape& global) {
    SliceRange range;
    for (int dim = 0; dim < global.dims(); ++dim) {
      const bool full = upto(1) == 0;
      const int64_t offset = full ? 0 : upto(global[dim] - 1) / 2;
      range.box.offset.append(offset);
      const int64_t least = upto(15) == 0 ? 0 : 1;
      range.box.size.append(full ? global[dim] : least + upto(global[dim] - offset - least));
    }
    const int64_t elements = range.box.size.elements();
    range.begin = upto(2) != 0 ? 0 : upto(elements);
    range.end = upto(2) != 0 ? elements : range.begin + upto(elements - range.begin);
    return range;
  }

 private:
  std::mt19937 engine_;
};

TEST(Box, RunsEqualTheNaiveMap) {
  Random random(7);
  int64_t all_shared = 0, rounds_with_some = 0;
  for (int round = 0; round < 20000; ++round) {
    const Shape global = random.shape();
    const SliceRange target = random.range(global), source = random.range(global);
    ASSERT_EQ(fault_of(target, global), "");
    const auto wanted = naive_elements(target, global), held = naive_elements(source, global);
    size_t shared = 0;
    for (int64_t element : wanted) shared += std::count(held.begin(), held.end(), element);
    size_t met = 0;
    int64_t target_reached = 0, source_reached = 0;
    bool first = true;
    for_each_run(target, source, [&](int64_t target_at, int64_t source_at, int64_t count) {
      ASSERT_GT(count, 0);
      ASSERT_GE(target_at, target_reached);
      ASSERT_GE(source_at, source_reached);
      // As long as can be: a run never continues the one before on both sides.
      if (!first) {
        ASSERT_FALSE(target_at == target_reached && source_at == source_reached);
      }
      first = false;
      for (int64_t index = 0; index < count; ++index)
        ASSERT_EQ(wanted.at(static_cast<size_t>(target_at + index)),
                  held.at(static_cast<size_t>(source_at + index)));
      met += static_cast<size_t>(count);
      target_reached = target_at + count;
      source_reached = source_at + count;
    });
    all_shared += static_cast<int64_t>(shared);
    rounds_with_some += shared > 0;
    ASSERT_EQ(met, shared) << global.str() << " " << to_string(target) << " " << to_string(source);
  }
  EXPECT_GT(rounds_with_some, 5000);  // the cases are not mostly empty
  EXPECT_GT(all_shared, 100000);
}

TEST(Box, CoverageEqualsTheNaiveCount) {
  Random random(11);
  for (int round = 0; round < 5000; ++round) {
    const Shape global = random.shape();
    const SliceRange target = random.range(global);
    std::vector<SliceRange> sources;
    for (int64_t left = random.upto(4); left > 0; --left) sources.push_back(random.range(global));
    const auto wanted = naive_elements(target, global);
    Coverage naive;
    for (size_t index = 0; index < wanted.size(); ++index) {
      int64_t copies = 0;
      for (const SliceRange& source : sources) {
        const auto held = naive_elements(source, global);
        copies += std::count(held.begin(), held.end(), wanted[index]);
      }
      if (copies == 0 && naive.missing++ == 0) naive.first_missing = static_cast<int64_t>(index);
      if (copies > 1) {
        if (naive.repeated == 0) naive.first_repeated = static_cast<int64_t>(index);
        naive.repeated += copies - 1;
      }
    }
    const Coverage found = coverage(target, sources);
    ASSERT_EQ(found.missing, naive.missing);
    ASSERT_EQ(found.repeated, naive.repeated);
    ASSERT_EQ(found.first_missing, naive.first_missing);
    ASSERT_EQ(found.first_repeated, naive.first_repeated);
  }
}

int count_runs(const SliceRange& target, const SliceRange& source) {
  int runs = 0;
  for_each_run(target, source, [&](int64_t, int64_t, int64_t) { ++runs; });
  return runs;
}

TEST(Box, BigTensorsTakeFewSteps) {
  const Shape global{1 << 20, 1 << 16};  // 2^36 elements
  const SliceRange all = whole(global);
  EXPECT_EQ(count_runs(all, all), 1);
  const SliceRange columns{{{0, 1 << 15}, {1 << 20, 1 << 15}}, 0, 7 * (int64_t{1} << 15)};
  EXPECT_EQ(count_runs(all, columns),
            7);  // the flat range ends after seven rows; the other million is not walked
  const SliceRange late{{{0, 0}, {1 << 20, 1 << 16}}, (int64_t{1} << 36) - 5, int64_t{1} << 36};
  EXPECT_EQ(count_runs(late, all), 1);
}

TEST(Box, ScalarIsOneElement) {
  const SliceRange scalar = whole(Shape{});
  EXPECT_EQ(scalar.count(), 1);
  EXPECT_EQ(count_runs(scalar, scalar), 1);
  EXPECT_TRUE(coverage(scalar, std::vector{scalar}).exactly_once());
  EXPECT_FALSE(coverage(scalar, std::vector<SliceRange>{}).at_least_once());
}

TEST(Box, FaultsNameTheRule) {
  const Shape global{4, 6};
  EXPECT_EQ(fault_of({{{0, 0}, {4, 6}}, 0, 24}, global), "");
  EXPECT_NE(fault_of({{{0}, {4}}, 0, 4}, global), "");
  EXPECT_NE(fault_of({{{1, 0}, {4, 6}}, 0, 24}, global).find("leaves dim 0"), std::string::npos);
  EXPECT_NE(fault_of({{{0, 0}, {4, 6}}, 0, 25}, global).find("flat range"), std::string::npos);
  EXPECT_NE(fault_of({{{0, 0}, {4, 6}}, 5, 4}, global).find("flat range"), std::string::npos);
}

}  // namespace
}  // namespace octant
