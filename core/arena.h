// Cuts a device's memory into blocks: best fit, freed neighbours joined, lowest address first.
//
// A training step gives its blocks back in nearly the reverse of the order in which it took them, so whole
// steps lie in one another's place: the arena's mark stops rising after the first, and memory that the
// process holds stays close to what its tensors hold. A block is a multiple of 64 bytes and begins at one.
// The arena asks its backend for large segments; where memory that is never touched costs nothing
// (Backend::segment_bytes) one segment lasts for ever. Used by one rank's thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/backend.h"

namespace octant {

class Arena {
 public:
  explicit Arena(Backend& backend) : backend_(&backend) {}
  // Blocks that are still taken die with it.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  struct Block {
    void* data = nullptr;
    bool is_zero = false;  // never written since the system cleared it
  };
  // 64-byte aligned, uninitialised; `bytes` may be zero. Throws MemoryError when the system refuses.
  Block take(int64_t bytes);
  // `bytes` as taken. Never throws.
  void give_back(void* data, int64_t bytes) noexcept;

  // Bytes of all segments up to the highest block that was ever taken: what the process may hold.
  int64_t mark() const;

 private:
  struct Segment {
    std::byte* begin = nullptr;
    int64_t bytes = 0;
    int64_t mark = 0;
  };
  struct Hole {
    std::byte* begin = nullptr;
    int64_t bytes = 0;
    std::byte* end() const { return begin + bytes; }
  };
  void grow(int64_t bytes);
  // True when all of [begin, end) was below no mark yet, in memory that is zero until it is written.
  bool raise_mark(const std::byte* begin, const std::byte* end);
  void make_room_for_holes();

  Backend* backend_;
  std::vector<Segment> segments_;
  std::vector<Hole> holes_;  // by address
  int64_t taken_ = 0;
};

}  // namespace octant
