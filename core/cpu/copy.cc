#include "core/cpu/copy.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/copy.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void CopyStreaming(std::byte* to, const std::byte* from, int64_t bytes) {
  using Bytes = hn::ScalableTag<uint8_t>;
  const Bytes d;
  constexpr int64_t kVector = HWY_LANES(uint8_t);
  const int64_t misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % 64);
  int64_t at = std::min<int64_t>(bytes, (64 - misaligned) % 64);
  std::memcpy(to, from, static_cast<size_t>(at));
  const auto* source = reinterpret_cast<const uint8_t*>(from);
  auto* target = reinterpret_cast<uint8_t*>(to);
  for (; at + 4 * kVector <= bytes; at += 4 * kVector) {
    const auto v0 = hn::LoadU(d, source + at);
    const auto v1 = hn::LoadU(d, source + at + kVector);
    const auto v2 = hn::LoadU(d, source + at + 2 * kVector);
    const auto v3 = hn::LoadU(d, source + at + 3 * kVector);
    hn::Stream(v0, d, target + at);
    hn::Stream(v1, d, target + at + kVector);
    hn::Stream(v2, d, target + at + 2 * kVector);
    hn::Stream(v3, d, target + at + 3 * kVector);
  }
  std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
  // Other cores will read this after a release of ours.
  hwy::FlushStream();
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(CopyStreaming);

void copy_bytes(void* to, const void* from, int64_t bytes, int threads) {
  constexpr int64_t kGrain = int64_t{1} << 20;
  constexpr int64_t kStreamed = int64_t{2} << 20;
  if (bytes <= 0) return;
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  if (target < source + bytes && source < target + bytes) {
    std::memmove(to, from, static_cast<size_t>(bytes));
    return;
  }
  parallel_for(threads, bytes, kGrain, [&](int64_t begin, int64_t end) {
    if (bytes < kStreamed) {
      std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
    } else {
      HWY_DYNAMIC_DISPATCH(CopyStreaming)(target + begin, source + begin, end - begin);
    }
  });
}

}  // namespace octant::cpu
#endif
