#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "core/math/float16.h"
#include "core/math/normal.h"
#include "core/math/philox.h"

namespace octant {
namespace {

// The known answers of Random123 for philox4x32-10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32(0, 0, 0), (std::array<uint32_t, 4>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox4x32(~0ull, ~0ull, ~0ull),
            (std::array<uint32_t, 4>{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox4x32(0x299F31D0A4093822ull, 0x85A308D3243F6A88ull, 0x0370734413198A2Eull),
            (std::array<uint32_t, 4>{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(Philox, ElementsAreLanesOfBlocks) {
  const auto block = philox4x32(42, 5);
  for (uint64_t lane = 0; lane < 4; ++lane) EXPECT_EQ(random_u32(42, 20 + lane), block[lane]);
}

TEST(Philox, KeysDiffer) {
  std::set<uint64_t> keys;
  for (int64_t step = 0; step < 20; ++step) {
    for (int64_t layer = 0; layer < 20; ++layer) {
      for (int site = 0; site < 8; ++site) keys.insert(dropout_key(1, step, layer, site));
    }
  }
  EXPECT_EQ(keys.size(), 3200u);
  EXPECT_NE(parameter_key(1, "a.weight"), parameter_key(1, "b.weight"));
  EXPECT_NE(parameter_key(1, "a.weight"), parameter_key(2, "a.weight"));
}

TEST(Uniform, StaysBelowOne) {
  EXPECT_EQ(uniform_from_u32(0), 0.0f);
  EXPECT_LT(uniform_from_u32(0xFFFFFFFFu), 1.0f);
}

// Every 16-bit pattern is a float that narrows back to itself.
template <typename T>
void round_trip() {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const T value{static_cast<uint16_t>(bits)};
    const float wide = widen(value);
    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(widen(narrow<T>(wide)))) << std::hex << bits;
    } else {
      ASSERT_EQ(narrow<T>(wide).bits, bits) << std::hex << bits;
    }
  }
}
TEST(Float16, EveryPatternSurvives) {
  round_trip<BFloat16>();
  round_trip<Float16>();
}

TEST(Float16, WideningIsExact) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double mantissa = bits & 0x3FF;
    const double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25);
    ASSERT_EQ(static_cast<double>(widen(Float16{static_cast<uint16_t>(bits)})), expected) << bits;
    ASSERT_EQ(static_cast<double>(widen(Float16{static_cast<uint16_t>(bits | 0x8000)})), -expected) << bits;
  }
  EXPECT_EQ(widen(BFloat16{0x3F80}), 1.0f);
}

// Between any two neighbours: just below the middle rounds down, the middle to the even one, just above
// rounds up.
template <typename T>
void nearest_even(uint32_t infinity) {
  for (uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    const float low = widen(T{static_cast<uint16_t>(bits)}), high = widen(T{static_cast<uint16_t>(bits + 1)});
    const float middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(narrow<T>(middle).bits, even) << bits;
    ASSERT_EQ(narrow<T>(std::nextafter(middle, 0.0f)).bits, bits) << bits;
    ASSERT_EQ(narrow<T>(std::nextafter(middle, INFINITY)).bits, bits + 1) << bits;
    ASSERT_EQ(narrow<T>(-middle).bits, even | 0x8000) << bits;
  }
}
TEST(Float16, RoundsToNearestEven) {
  nearest_even<BFloat16>(0x7F80);
  nearest_even<Float16>(0x7C00);
}

TEST(Float16, EndsOfTheRange) {
  EXPECT_EQ(narrow<Float16>(65504.0f).bits, 0x7BFF);
  EXPECT_EQ(narrow<Float16>(std::nextafter(65520.0f, 0.0f)).bits, 0x7BFF);
  EXPECT_EQ(narrow<Float16>(65520.0f).bits, 0x7C00);
  EXPECT_EQ(narrow<Float16>(-INFINITY).bits, 0xFC00);
  EXPECT_EQ(narrow<Float16>(1e-10f).bits, 0);
  EXPECT_EQ(narrow<Float16>(-0.0f).bits, 0x8000);
  EXPECT_EQ(narrow<BFloat16>(INFINITY).bits, 0x7F80);
  EXPECT_EQ(narrow<BFloat16>(std::bit_cast<float>(0x7F7FFFFFu)).bits, 0x7F80);
  // A NaN whose payload lies in the lost bits stays a NaN.
  EXPECT_TRUE(std::isnan(widen(narrow<BFloat16>(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_TRUE(std::isnan(widen(narrow<Float16>(std::bit_cast<float>(0xFF800001u)))));
}

TEST(Normal, Moments) {
  constexpr int kCount = 200000;
  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  float last = 0;
  for (int i = 0; i < kCount; ++i) {
    const float x = normal(parameter_key(7, "weight"), static_cast<uint64_t>(i));
    mean += x;
    square += static_cast<double>(x) * x;
    fourth += std::pow(x, 4);
    neighbours += static_cast<double>(x) * last;
    last = x;
  }
  // Four standard errors each.
  EXPECT_NEAR(mean / kCount, 0.0, 4.0 / std::sqrt(kCount));
  EXPECT_NEAR(square / kCount, 1.0, 4.0 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourth / kCount, 3.0, 4.0 * std::sqrt(96.0 / kCount));
  EXPECT_NEAR(neighbours / kCount, 0.0, 4.0 / std::sqrt(kCount));
}

TEST(Normal, FollowsItsFormula) {
  for (uint64_t index : {0ull, 1ull, 2ull, 12345ull, 1ull << 40}) {
    const auto block = philox4x32(9, index / 2);
    const double u1 = ((block[0] >> 8) + 1) / 16777216.0, u2 = (block[1] >> 8) / 16777216.0;
    const double radius = std::sqrt(-2.0 * std::log(u1)), angle = 2.0 * M_PI * u2;
    EXPECT_EQ(normal(9, index),
              static_cast<float>(radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle))));
  }
}

}  // namespace
}  // namespace octant
