#include "core/arena.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace octant {
namespace {

constexpr int64_t kAlignment = 64;

// Under AddressSanitizer holes, and a gap behind every block, are forbidden ground.
#if defined(__SANITIZE_ADDRESS__)
constexpr int64_t kGap = 64;
void forbid(const void* data, int64_t bytes) {
  ASAN_POISON_MEMORY_REGION(data, static_cast<size_t>(bytes));
}
void permit(const void* data, int64_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(data, static_cast<size_t>(bytes));
}
#else
constexpr int64_t kGap = 0;
void forbid(const void*, int64_t) {}
void permit(const void*, int64_t) {}
#endif

int64_t block_bytes(int64_t bytes) {
  return (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment + kGap;
}

}  // namespace

Arena::~Arena() {
  for (const Segment& segment : segments_) {
    permit(segment.begin, segment.mark);
    backend_->free(segment.begin, segment.bytes);
  }
}

Arena::Block Arena::take(int64_t bytes) {
  if (bytes > std::numeric_limits<int64_t>::max() / 2)
    throw MemoryError("a block of more bytes than a 62-bit number counts was asked for");
  const int64_t size = block_bytes(bytes);
  const auto best_of = [&] {
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole)
      if (hole->bytes >= size && (best == holes_.end() || hole->bytes < best->bytes)) best = hole;
    return best;
  };
  make_room_for_holes();
  auto hole = best_of();
  if (hole == holes_.end()) {
    grow(size);
    hole = best_of();
  }
  std::byte* const data = hole->begin;
  hole->begin += size;
  hole->bytes -= size;
  if (hole->bytes == 0) holes_.erase(hole);
  ++taken_;
  const bool is_zero = raise_mark(data, data + size);
  // Not the whole segment when it comes: its shadow would be an eighth of the machine's memory.
  forbid(data, size);
  permit(data, bytes);
  return {data, is_zero};
}

void Arena::give_back(void* data, int64_t bytes) noexcept {
  const Hole freed{static_cast<std::byte*>(data), block_bytes(bytes)};
  forbid(freed.begin, freed.bytes);
  --taken_;
  auto next = std::lower_bound(holes_.begin(), holes_.end(), freed.begin,
                               [](const Hole& hole, const std::byte* at) { return hole.begin < at; });
  const bool joins_next = next != holes_.end() && freed.end() == next->begin;
  if (next != holes_.begin() && std::prev(next)->end() == freed.begin) {
    Hole& before = *std::prev(next);
    before.bytes += freed.bytes;
    if (!joins_next) return;
    before.bytes += next->bytes;
    holes_.erase(next);
  } else if (joins_next) {
    next->begin = freed.begin;
    next->bytes += freed.bytes;
  } else {
    holes_.insert(next, freed);
  }
}

void Arena::grow(int64_t bytes) {
  int64_t size = std::max(bytes, backend_->segment_bytes());
  std::byte* begin = nullptr;
  while (begin == nullptr) {
    try {
      begin = static_cast<std::byte*>(backend_->allocate(size));
    } catch (const MemoryError&) {
      if (size == bytes) throw;
      size = std::max(bytes, size / 2 / kAlignment * kAlignment);
    }
  }
  segments_.push_back({begin, size, 0});
  make_room_for_holes();
  holes_.insert(std::lower_bound(holes_.begin(), holes_.end(), begin,
                                 [](const Hole& hole, const std::byte* at) { return hole.begin < at; }),
                {begin, size});
}

// Room for a block's own return is made when it is taken, so that giving it back never allocates.
void Arena::make_room_for_holes() {
  const size_t most = segments_.size() + static_cast<size_t>(taken_) + 2;
  if (holes_.capacity() < most) holes_.reserve(2 * most);
}

bool Arena::raise_mark(const std::byte* begin, const std::byte* end) {
  bool is_zero = false;
  for (Segment& segment : segments_) {
    if (end <= segment.begin || end > segment.begin + segment.bytes) continue;
    is_zero = begin >= segment.begin + segment.mark && backend_->fresh_memory_is_zero(segment.bytes);
    segment.mark = std::max<int64_t>(segment.mark, end - segment.begin);
  }
  return is_zero;
}

int64_t Arena::mark() const {
  int64_t total = 0;
  for (const Segment& segment : segments_) total += segment.mark;
  return total;
}

}  // namespace octant
