#include "checkpoint/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace octant {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file formats are little-endian and written as they lie in memory");

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

uint64_t word_at(const unsigned char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

uint64_t step(uint64_t lane, uint64_t word) {
  return std::rotl(lane ^ word, 29) * kOdd;
}

// Every input bit reaches every output bit (a bijection: multiplications by odd numbers and xor-shifts).
uint64_t stir(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}

}  // namespace

void Checksum::take_block(const unsigned char* block) {
  for (size_t lane = 0; lane < lanes_.size(); ++lane)
    lanes_[lane] = step(lanes_[lane], word_at(block + 8 * lane));
}

void Checksum::update(const void* data, size_t bytes) {
  const auto* next = static_cast<const unsigned char*>(data);
  if (bytes == 0) return;
  total_ += bytes;
  if (rest_bytes_ > 0) {
    const size_t taken = std::min(kBlock - rest_bytes_, bytes);
    std::memcpy(rest_.data() + rest_bytes_, next, taken);
    rest_bytes_ += taken;
    next += taken;
    bytes -= taken;
    if (rest_bytes_ < kBlock) return;
    take_block(rest_.data());
    rest_bytes_ = 0;
  }
  auto lanes = lanes_;  // in registers over the long loop
  for (; bytes >= kBlock; bytes -= kBlock, next += kBlock)
    for (size_t lane = 0; lane < lanes.size(); ++lane)
      lanes[lane] = step(lanes[lane], word_at(next + 8 * lane));
  lanes_ = lanes;
  std::memcpy(rest_.data(), next, bytes);
  rest_bytes_ = bytes;
}

uint64_t Checksum::value() const {
  Checksum last = *this;
  if (rest_bytes_ > 0) {
    std::fill(last.rest_.begin() + static_cast<std::ptrdiff_t>(rest_bytes_), last.rest_.end(),
              static_cast<unsigned char>(0));
    last.take_block(last.rest_.data());
  }
  uint64_t value = stir(total_ ^ kOdd);
  for (uint64_t lane : last.lanes_) value = stir(value ^ lane);
  return value;
}

}  // namespace octant
