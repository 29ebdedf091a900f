// Rank-coded values: small whole numbers, exact in every dtype, so that sums have a closed form.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/device.h"

namespace octant {

// f16 and bf16 without the code under test: all values here are whole numbers below 256.
inline uint16_t bf16_of(double value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}
inline double from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t f16_of(double value) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if ((bits & 0x7fffffffu) == 0) return 0;
  const uint32_t exponent = ((bits >> 23) & 0xffu) - 127 + 15;
  return static_cast<uint16_t>(((bits >> 16) & 0x8000u) | (exponent << 10) | ((bits >> 13) & 0x3ffu));
}
inline double from_f16(uint16_t bits) {
  if ((bits & 0x7fffu) == 0) return 0;
  const uint32_t exponent = ((bits >> 10) & 0x1fu) + 127 - 15;
  return std::bit_cast<float>(((bits & 0x8000u) << 16) | (exponent << 23) | ((bits & 0x3ffu) << 13));
}

inline void set_value(const Tensor& tensor, int64_t index, double value) {
  switch (tensor.dtype()) {
    case DType::kF32:
      tensor.as<float>()[index] = static_cast<float>(value);
      break;
    case DType::kF64:
      tensor.as<double>()[index] = value;
      break;
    case DType::kBF16:
      tensor.as<uint16_t>()[index] = bf16_of(value);
      break;
    case DType::kF16:
      tensor.as<uint16_t>()[index] = f16_of(value);
      break;
    case DType::kI32:
      tensor.as<int32_t>()[index] = static_cast<int32_t>(value);
      break;
    case DType::kI64:
      tensor.as<int64_t>()[index] = static_cast<int64_t>(value);
      break;
    case DType::kU8:
      tensor.as<uint8_t>()[index] = static_cast<uint8_t>(value);
      break;
  }
}

inline double get_value(const Tensor& tensor, int64_t index) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return tensor.as<float>()[index];
    case DType::kF64:
      return tensor.as<double>()[index];
    case DType::kBF16:
      return from_bf16(tensor.as<uint16_t>()[index]);
    case DType::kF16:
      return from_f16(tensor.as<uint16_t>()[index]);
    case DType::kI32:
      return tensor.as<int32_t>()[index];
    case DType::kI64:
      return static_cast<double>(tensor.as<int64_t>()[index]);
    case DType::kU8:
      return tensor.as<uint8_t>()[index];
  }
  return 0;
}

// What rank `rank` brings at element `index`: 0…15, so that a sum over 8 ranks stays exact in bf16.
inline double coded(int rank, int64_t index) {
  return static_cast<double>((7 * rank + 3 * index + index / 5) % 16);
}

inline double coded_sum(int ranks, int64_t index) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += coded(rank, index);
  return sum;
}

inline double coded_max(int ranks, int64_t index) {
  double most = 0;
  for (int rank = 0; rank < ranks; ++rank) most = std::max(most, coded(rank, index));
  return most;
}

inline Tensor coded_tensor(Device& device, int64_t count, DType dtype, int rank) {
  Tensor tensor = device.allocate({count}, dtype, MemoryKind::kGradients);
  for (int64_t i = 0; i < count; ++i) set_value(tensor, i, coded(rank, i));
  return tensor;
}

// Floats whose sum depends on the order of adding.
inline float uneven(int rank, int64_t index) {
  uint32_t x = static_cast<uint32_t>(rank * 7919 + index * 104729 + 12345);
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return (static_cast<float>(x % 20011) - 10005.0f) * (x % 3 == 0 ? 1e-4f : 1.0f) / 7.0f;
}

// The index of the first element that differs from what `expected` says; -1 if none does.
template <typename Expected>
int64_t first_difference(const Tensor& tensor, int64_t begin, int64_t count, Expected&& expected) {
  for (int64_t i = 0; i < count; ++i)
    if (get_value(tensor, begin + i) != expected(i)) return i;
  return -1;
}

}  // namespace octant
