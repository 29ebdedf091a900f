#include "data/token_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/math/philox.h"

namespace octant {

void TokenSource::mask(int64_t begin, std::span<uint8_t> out) const {
  check_range(begin, out.size());
  std::fill(out.begin(), out.end(), uint8_t{1});
}

uint64_t TokenSource::fingerprint() const {
  constexpr int64_t kBlocks = 64, kBlock = 16;
  const int64_t total = total_tokens();
  uint64_t hash = mix64(static_cast<uint64_t>(total));
  std::array<int32_t, kBlock> ids{};
  for (int64_t block = 0; block < kBlocks; ++block) {
    const int64_t count = std::min(kBlock, total);
    // Evenly spaced from the first to the last possible start, without a product that could pass 2^63.
    const int64_t room = total - count;
    const int64_t begin = room / (kBlocks - 1) * block + room % (kBlocks - 1) * block / (kBlocks - 1);
    tokens(begin, std::span(ids).first(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i)
      hash = mix64(hash ^ static_cast<uint32_t>(ids[static_cast<size_t>(i)]));
  }
  return hash;
}

void TokenSource::check_range(int64_t begin, size_t count) const {
  if (begin < 0 || begin > total_tokens() || count > static_cast<uint64_t>(total_tokens() - begin))
    throw BugError(fmt::format("{}: tokens [{}, {}+{}) are read from a source of {}", path(), begin, begin,
                               count, total_tokens()));
}

}  // namespace octant
