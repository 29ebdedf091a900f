// The checksum of checkpoints, "octant-hash64": 64 bits, several bytes a cycle, the same for every cut of the
// input.
//
//   Checksum checksum;
//   checksum.update(bytes, count);   // as often as wanted
//   uint64_t value = checksum.value();
//
// Four lanes take turns over little-endian 64-bit words; each step x ← odd × rotate(x ⊕ word) is a bijection
// in the word, so that damage within one word of the data is always seen, other damage but for a chance of
// 2^-64. It guards against accidents, not attackers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace octant {

inline constexpr std::string_view kChecksumAlgorithm = "octant-hash64";

class Checksum {
 public:
  void update(const void* data, size_t bytes);
  uint64_t value() const;

 private:
  static constexpr size_t kBlock = 32;
  void take_block(const unsigned char* block);

  std::array<uint64_t, 4> lanes_{0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                 0xa54ff53a5f1d36f1};
  std::array<unsigned char, kBlock> rest_{};  // the bytes behind the last full block
  size_t rest_bytes_ = 0;
  uint64_t total_ = 0;
};

inline uint64_t checksum_of(const void* data, size_t bytes) {
  Checksum checksum;
  checksum.update(data, bytes);
  return checksum.value();
}

}  // namespace octant
