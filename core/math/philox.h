// Counter-based random numbers: Philox-4x32-10 (Salmon et al., SC 2011, section 3).
//
// Every number is a pure function of (key, index), so initial weights depend on (seed, parameter name, global
// element index) and dropout masks on (seed, step, layer, site, global element), never on the layout, and
// recomputation needs no saved state.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace octant {

inline std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high = 0) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(counter_low), c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high), c3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c0 = n0;
    c1 = static_cast<uint32_t>(p1);
    c2 = n2;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

// SplitMix64's finaliser: spreads a small integer over 64 bits.
inline uint64_t mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// FNV-1a of a logical parameter name, folded with the seed.
inline uint64_t parameter_key(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3ull;
  return mix64(mix64(seed) ^ hash);
}

inline uint64_t dropout_key(uint64_t seed, int64_t step, int64_t layer, int site) {
  const uint64_t a = mix64(mix64(seed ^ 0xD50Dull) ^ static_cast<uint64_t>(step));
  return mix64(a ^ (static_cast<uint64_t>(layer) * 8 + static_cast<uint64_t>(site)));
}

// Element `index` of the stream `key`: block index / 4, lane index mod 4.
inline uint32_t random_u32(uint64_t key, uint64_t index) {
  return philox4x32(key, index >> 2)[index & 3];
}

// Uniform in [0, 1), 24 bits.
inline float uniform_from_u32(uint32_t bits) {
  return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f);
}

}  // namespace octant
