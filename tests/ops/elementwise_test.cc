#include <limits>

#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(ElementwiseTest);

TEST_P(ElementwiseTest, AddRoundsOnce) {
  for (DType dtype : kComputeTypes) {
    for (int64_t n : kOddSizes) {
      const Buffer a(ops(), dtype, random_values(n, 41, 3.0)), b(ops(), dtype, random_values(n, 42)),
          out(ops(), dtype, Values(n));
      ops().add({}, {.n = n, .dtype = dtype, .a = a.data(), .b = b.data(), .out = out.data()});
      Values expected(n);
      for (int64_t i = 0; i < n; ++i)
        expected[i] = rounded(static_cast<float>(a.values[i] + b.values[i]), dtype);
      EXPECT_EQ(out.read(), expected) << label(dtype, {n});
      ops().add({}, {.n = n, .dtype = dtype, .a = a.data(), .b = b.data(), .out = b.data()});
      EXPECT_EQ(b.read(), expected) << "in place " << label(dtype, {n});
    }
  }
}

TEST_P(ElementwiseTest, CastBetweenAllTypes) {
  for (DType in_dtype : kComputeTypes) {
    for (DType out_dtype : kComputeTypes) {
      for (int64_t n : kOddSizes) {
        for (bool accumulate : {false, true}) {
          for (float scale : {1.0f, 0.375f, 1.0f / 3.0f}) {
            const Buffer in(ops(), in_dtype, random_values(n, 43, 2.0)),
                out(ops(), out_dtype, random_values(n, 44));
            ops().cast({}, {.n = n,
                            .in = in.data(),
                            .in_dtype = in_dtype,
                            .out = out.data(),
                            .out_dtype = out_dtype,
                            .scale = scale,
                            .accumulate = accumulate});
            Values expected(n);
            for (int64_t i = 0; i < n; ++i)
              expected[i] = scale * in.values[i] + (accumulate ? out.values[i] : 0.0);
            expect_close(out.read(), expected, out_dtype, {2.0}, 2.0, label(out_dtype, {n, accumulate}));
          }
        }
      }
    }
  }
}

// Every 16-bit pattern through the vector code: exact widening, nearest-even narrowing, as
// core/math/float16.h has them.
TEST_P(ElementwiseTest, CastKeepsEveryPattern) {
  std::vector<uint16_t> patterns;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) patterns.push_back(static_cast<uint16_t>(bits));
  const int64_t n = 0x10000;
  for (DType dtype : {DType::kBF16, DType::kF16}) {
    const Array<uint16_t> in(ops(), patterns), back(ops(), patterns);
    const Array<float> wide(ops(), std::vector<float>(n));
    ops().cast({},
               {.n = n, .in = in.data(), .in_dtype = dtype, .out = wide.data(), .out_dtype = DType::kF32});
    const std::vector<float> floats = wide.read();
    for (int64_t i = 0; i < n; ++i) {
      const float expected =
          dtype == DType::kBF16 ? widen(BFloat16{patterns[i]}) : widen(Float16{patterns[i]});
      ASSERT_TRUE(floats[i] == expected || (std::isnan(floats[i]) && std::isnan(expected)))
          << name_of(dtype) << " " << i;
    }
    ops().cast({},
               {.n = n, .in = wide.data(), .in_dtype = DType::kF32, .out = back.data(), .out_dtype = dtype});
    const std::vector<uint16_t> again = back.read();
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isnan(floats[i])) {
        ASSERT_EQ(again[i], patterns[i]) << name_of(dtype);
      }
    }
  }
}

TEST_P(ElementwiseTest, NarrowingRoundsAsTheScalarCodeDoes) {
  std::vector<float> source;
  for (uint32_t i = 0; i < 40000; ++i) source.push_back(std::bit_cast<float>(random_u32(45, i)));
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const float low = widen(Float16{static_cast<uint16_t>(bits)});
    source.push_back((low + widen(Float16{static_cast<uint16_t>(bits + (bits < 0x7BFF ? 1 : 0))})) / 2);
    source.push_back(std::bit_cast<float>((bits << 16) | 0x8000u));
  }
  const int64_t n = static_cast<int64_t>(source.size());
  const Array<float> in(ops(), source);
  const Array<uint16_t> brain(ops(), std::vector<uint16_t>(n)), half(ops(), std::vector<uint16_t>(n));
  ops().cast({}, {.n = n, .in = in.data(), .out = brain.data(), .out_dtype = DType::kBF16});
  ops().cast({}, {.n = n, .in = in.data(), .out = half.data(), .out_dtype = DType::kF16});
  const auto brains = brain.read(), halves = half.read();
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(source[i])) {
      EXPECT_TRUE(std::isnan(widen(BFloat16{brains[i]})) && std::isnan(widen(Float16{halves[i]})));
      continue;
    }
    ASSERT_EQ(brains[i], narrow<BFloat16>(source[i]).bits) << source[i];
    ASSERT_EQ(halves[i], narrow<Float16>(source[i]).bits) << source[i];
  }
}

TEST_P(ElementwiseTest, ReduceAddsInOrderAndRoundsOnce) {
  for (DType dtype : kComputeTypes) {
    for (DType out_dtype : kComputeTypes) {
      for (int64_t n : kOddSizes) {
        for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
          for (bool accumulate : {false, true}) {
            const Buffer a(ops(), dtype, random_values(n, 46, 100.0)), b(ops(), dtype, random_values(n, 47)),
                c(ops(), dtype, random_values(n, 48, 0.01));
            const Buffer out(ops(), out_dtype, random_values(n, 49));
            const void* sources[] = {a.data(), b.data(), c.data()};
            ops().reduce({}, {.n = n,
                              .num_sources = 3,
                              .sources = sources,
                              .dtype = dtype,
                              .out = out.data(),
                              .out_dtype = out_dtype,
                              .op = op,
                              .accumulate = accumulate});
            Values expected(n);
            for (int64_t i = 0; i < n; ++i) {
              const float x = static_cast<float>(a.values[i]), y = static_cast<float>(b.values[i]),
                          z = static_cast<float>(c.values[i]);
              float total = op == ReduceOp::kSum ? (x + y) + z : std::max(std::max(x, y), z);
              const float old = static_cast<float>(out.values[i]);
              if (accumulate) total = op == ReduceOp::kSum ? old + total : std::max(old, total);
              expected[i] = rounded(total, out_dtype);
            }
            EXPECT_EQ(out.read(), expected) << label(dtype, {n, accumulate});
          }
        }
      }
    }
  }
}

// A part of a large sum is written past the cache, in place too: the same bits, and nothing beside it.
TEST_P(ElementwiseTest, PartsOfALargeSum) {
  for (DType dtype : kComputeTypes) {
    for (int64_t n : {1, 15, 16, 17, 64, 259}) {
      for (int64_t offset : {0, 16, 19}) {
        for (bool in_place : {false, true}) {
          const int64_t size = offset + n + 33;
          const Buffer x(ops(), dtype, random_values(size, 50)), y(ops(), dtype, random_values(size, 51));
          const Buffer small(ops(), dtype, x.values), large(ops(), dtype, x.values);
          for (const Buffer* out : {&small, &large}) {
            const void* sources[] = {in_place ? out->at(offset) : x.at(offset), y.at(offset)};
            ops().reduce({}, {.n = n,
                              .whole = out == &large ? int64_t{1} << 20 : 0,
                              .num_sources = 2,
                              .sources = sources,
                              .dtype = dtype,
                              .out = out->at(offset),
                              .out_dtype = dtype});
          }
          EXPECT_EQ(large.read(), small.read()) << label(dtype, {n, offset, in_place});
          EXPECT_NE(large.read(), x.values);
        }
      }
    }
  }
}

template <typename T>
void reduce_exactly(Backend& ops, DType dtype, const std::vector<T>& x, const std::vector<T>& y, ReduceOp op,
                    const std::vector<T>& expected) {
  const Array<T> a(ops, x), b(ops, y);
  const void* sources[] = {a.data(), b.data()};
  ops.reduce({}, {.n = static_cast<int64_t>(x.size()),
                  .num_sources = 2,
                  .sources = sources,
                  .dtype = dtype,
                  .out = a.data(),
                  .out_dtype = dtype,
                  .op = op});
  EXPECT_EQ(a.read(), expected) << name_of(dtype);
}

TEST_P(ElementwiseTest, ReduceOfDoublesAndIntegersIsExactAndInPlace) {
  reduce_exactly<double>(ops(), DType::kF64, {1.0, 1e-17, -3.5}, {0x1p-52, 1.0, 1.25}, ReduceOp::kSum,
                         {1.0 + 0x1p-52, 1.0, -2.25});
  reduce_exactly<double>(ops(), DType::kF64, {1.0, -2.0}, {0.5, -1.0}, ReduceOp::kMax, {1.0, -1.0});
  reduce_exactly<int64_t>(ops(), DType::kI64, {int64_t{1} << 60, -7}, {1, 3}, ReduceOp::kSum,
                          {(int64_t{1} << 60) + 1, -4});
  reduce_exactly<int32_t>(ops(), DType::kI32, {16777217, -7, 3}, {1, 3, 4}, ReduceOp::kSum,
                          {16777218, -4, 7});
  reduce_exactly<int32_t>(ops(), DType::kI32, {-5, 9}, {-7, 10}, ReduceOp::kMax, {-5, 10});
  reduce_exactly<uint8_t>(ops(), DType::kU8, {0, 255, 3}, {1, 2, 3}, ReduceOp::kMax, {1, 255, 3});
  const Array<uint8_t> bytes(ops(), {1, 2});
  const void* sources[] = {bytes.data()};
  EXPECT_THROW(ops().reduce({}, {.n = 2,
                                 .num_sources = 1,
                                 .sources = sources,
                                 .dtype = DType::kU8,
                                 .out = bytes.data(),
                                 .out_dtype = DType::kU8}),
               BugError);
}

TEST_P(ElementwiseTest, MaximumKeepsNan) {
  const double nan = std::nan("");
  for (DType dtype : kComputeTypes) {
    const Buffer a(ops(), dtype, {nan, 1.0, 2.0}), b(ops(), dtype, {1.0, nan, 1.0});
    const void* sources[] = {a.data(), b.data()};
    ops().reduce({}, {.n = 3,
                      .num_sources = 2,
                      .sources = sources,
                      .dtype = dtype,
                      .out = a.data(),
                      .out_dtype = dtype,
                      .op = ReduceOp::kMax});
    const Values result = a.read();
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1])) << name_of(dtype);
    EXPECT_EQ(result[2], 2.0);
  }
}

TEST_P(ElementwiseTest, CopyAndZero) {
  const Array<uint8_t> from(ops(), {1, 2, 3, 4, 5}), to(ops(), {9, 9, 9, 9, 9});
  ops().copy({}, to.data() + 1, from.data(), 3);
  EXPECT_EQ(to.read(), (std::vector<uint8_t>{9, 1, 2, 3, 9}));
  ops().set_zero({}, to.data(), 2);
  EXPECT_EQ(to.read(), (std::vector<uint8_t>{0, 0, 2, 3, 9}));
  ops().copy({}, nullptr, nullptr, 0);
}

}  // namespace
}  // namespace octant::test
