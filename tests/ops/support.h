// The conformance suite's frame: the backends under test, device memory with known values, and the error
// bound.
//
// Every test is written against Backend and runs on each factory of `factories()`: a new device joins by
// adding its own. Expected values come from naive double-precision code in the tests, fed with the inputs as
// the storage type rounds them.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/cpu/cpu_backend.h"
#include "core/error.h"
#include "core/math/float16.h"
#include "core/math/philox.h"

namespace octant::test {

struct Factory {
  std::string name;
  std::function<std::unique_ptr<Backend>(int threads)> make;
};

// The CPU once for each instruction set that its vector code is built for and this processor has.
inline std::vector<Factory> factories() {
  const auto cpu_with = [](int64_t targets) {
    return [targets](int threads) {
      hwy::SetSupportedTargetsForTest(targets);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      return cpu::make_backend({.threads = threads});
    };
  };
  std::vector<Factory> all{{"cpu", cpu_with(0)}, {"cpu_baseline", cpu_with(HWY_SCALAR)}};
  if ((hwy::SupportedTargets() & HWY_AVX3) != 0) all.push_back({"cpu_avx2", cpu_with(HWY_AVX2)});
  return all;
}

class OpsTest : public ::testing::TestWithParam<Factory> {
 protected:
  void SetUp() override { backend_ = GetParam().make(1); }
  Backend& ops() { return *backend_; }
  static constexpr Stream kStream{};

 private:
  std::unique_ptr<Backend> backend_;
};

#define OCTANT_OPS_SUITE(suite)                  \
  class suite : public OpsTest {};               \
  INSTANTIATE_TEST_SUITE_P(                      \
      , suite, ::testing::ValuesIn(factories()), \
      [](const ::testing::TestParamInfo<Factory>& factory) { return factory.param.name; })

using Values = std::vector<double>;

inline const std::vector<DType> kComputeTypes = {DType::kF32, DType::kBF16, DType::kF16};
inline const std::vector<int64_t> kOddSizes = {1, 3, 17, 257};

// Half the distance between 1 and the next number, the largest relative error of one rounding.
inline double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return 0x1p-8;
    case DType::kF16:
      return 0x1p-11;
    case DType::kF64:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

inline double rounded(double value, DType dtype) {
  const float single = static_cast<float>(value);
  if (dtype == DType::kBF16) return widen(narrow<BFloat16>(single));
  if (dtype == DType::kF16) return widen(narrow<Float16>(single));
  return single;
}

// Uniform in [-scale, scale).
inline Values random_values(int64_t n, uint64_t seed, double scale = 1.0) {
  Values values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scale * (2.0 * uniform_from_u32(random_u32(seed, i)) - 1.0);
  return values;
}

// Device memory of plain elements.
template <typename T>
class Array {
 public:
  Array(Backend& backend, const std::vector<T>& values) : backend_(&backend), count_(values.size()) {
    data_ = static_cast<T*>(backend.allocate(bytes()));
    backend.copy_from_host({}, data_, values.data(), bytes());
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { backend_->free(data_, bytes()); }
  T* data() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    backend_->copy_to_host({}, values.data(), data_, bytes());
    backend_->synchronize({});
    return values;
  }

 private:
  int64_t bytes() const { return static_cast<int64_t>(count_ * sizeof(T)); }
  Backend* backend_;
  size_t count_;
  T* data_ = nullptr;
};

// Device memory of one compute type. `values` are the values as that type holds them.
class Buffer {
 public:
  Buffer(Backend& backend, DType dtype, const Values& source)
      : dtype_(dtype), bytes_(encode(dtype, source)), array_(backend, bytes_) {
    values = decode(bytes_);
  }
  void* data() const { return array_.data(); }
  void* at(int64_t element) const { return array_.data() + element * size_of(dtype_); }
  float* floats() const { return reinterpret_cast<float*>(array_.data()); }
  DType dtype() const { return dtype_; }
  Values read() const { return decode(array_.read()); }
  std::vector<std::byte> raw() const { return array_.read(); }

  Values values;

 private:
  static std::vector<std::byte> encode(DType dtype, const Values& source) {
    std::vector<std::byte> bytes(source.size() * static_cast<size_t>(size_of(dtype)));
    for (size_t i = 0; i < source.size(); ++i) {
      const float single = static_cast<float>(source[i]);
      const BFloat16 brain = narrow<BFloat16>(single);
      const Float16 half = narrow<Float16>(single);
      const void* from = dtype == DType::kF32    ? static_cast<const void*>(&single)
                         : dtype == DType::kBF16 ? static_cast<const void*>(&brain)
                                                 : &half;
      std::memcpy(bytes.data() + i * static_cast<size_t>(size_of(dtype)), from,
                  static_cast<size_t>(size_of(dtype)));
    }
    return bytes;
  }
  Values decode(const std::vector<std::byte>& bytes) const {
    const size_t size = static_cast<size_t>(size_of(dtype_));
    Values result(bytes.size() / size);
    for (size_t i = 0; i < result.size(); ++i) {
      float single = 0;
      BFloat16 brain;
      Float16 half;
      void* to = dtype_ == DType::kF32    ? static_cast<void*>(&single)
                 : dtype_ == DType::kBF16 ? static_cast<void*>(&brain)
                                          : &half;
      std::memcpy(to, bytes.data() + i * size, size);
      result[i] = dtype_ == DType::kF32 ? single : dtype_ == DType::kBF16 ? widen(brain) : widen(half);
    }
    return result;
  }

  DType dtype_;
  std::vector<std::byte> bytes_;
  Array<std::byte> array_;
};

// |actual - expected| <= one rounding to `dtype` + c · eps(f32) · magnitude, element by element. `magnitude`
// bounds what was added up on the way to the result (one value for all, or one each).
inline void expect_close(const Values& actual, const Values& expected, DType dtype, const Values& magnitude,
                         double c, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  ASSERT_TRUE(magnitude.size() == 1 || magnitude.size() == expected.size()) << what;
  // Half of the smallest subnormal, where a format ends.
  const double floor = dtype == DType::kF16 ? 0x1p-25 : 0x1p-134;
  int failures = 0;
  for (size_t i = 0; i < actual.size() && failures < 5; ++i) {
    const double scale = magnitude.size() == 1 ? magnitude[0] : magnitude[i];
    const double computed = c * 0x1p-24 * scale;
    const double storage = dtype == DType::kF32 ? 0.0 : 1.01 * unit_roundoff(dtype) * std::abs(expected[i]);
    const double bound = computed + storage + floor;
    if (!(std::abs(actual[i] - expected[i]) <= bound)) {
      ++failures;
      ADD_FAILURE() << what << " element " << i << ": got " << actual[i] << ", expected " << expected[i]
                    << ", off by " << std::abs(actual[i] - expected[i]) << ", bound " << bound;
    }
  }
}

// Gradient of `loss` at x by central differences of the fourth order.
inline Values numeric_gradient(Values x, const std::function<double(const Values&)>& loss,
                               double step = 1e-3) {
  Values gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    const auto moved = [&](double by) {
      x[i] = at + by;
      return loss(x);
    };
    const double near = moved(step) - moved(-step);
    const double far = moved(2 * step) - moved(-2 * step);
    gradient[i] = (8.0 * near - far) / (12.0 * step);
    x[i] = at;
  }
  return gradient;
}

inline std::string label(DType dtype, std::initializer_list<int64_t> sizes) {
  std::string text(name_of(dtype));
  for (int64_t size : sizes) text.append(" ").append(std::to_string(size));
  return text;
}

}  // namespace octant::test
