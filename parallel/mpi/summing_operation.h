// What the sums of a transport of messages share. What the peers send goes through memory of its own
// (MemoryKind::kCommunication), a round at a time: while one round is summed the next is on its way. The
// sources are added in rank order, this rank's own among them, with one rounding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel/mpi/operations.h"

namespace octant::mpi {

// Cuts parts of a slice, given in order, into the messages of rounds; sender and receiver cut alike.
class Rounds {
 public:
  static constexpr int64_t kBytes = int64_t{4} << 20;  // of a round

  // visit(round, offset, begin, count): elements [begin, begin + count) of the part travel in this round, and
  // lie `offset` bytes from its start.
  template <typename Visit>
  void cut(int64_t elements, int64_t width, Visit&& visit) {
    for (int64_t begin = 0; begin < elements;) {
      if (filled_ == kBytes) {
        ++round_;
        filled_ = 0;
      }
      const int64_t count = std::min(elements - begin, (kBytes - filled_) / width);
      visit(round_, filled_, begin, count);
      filled_ = std::min(kBytes, filled_ + (count * width + kLine - 1) / kLine * kLine);
      begin += count;
    }
  }
  // Bytes of the longest round so far.
  int64_t longest() const { return round_ > 0 ? kBytes : filled_; }

 private:
  static constexpr int64_t kLine = 64;
  int round_ = 0;
  int64_t filled_ = 0;
};

// Sums slices of all ranks in rank order. Of a rank that sends, two rounds are on their way at a time; of one
// whose memory is read, a piece at a time is, small enough that the sum finds it in the cache.
class SummingOperation : public MpiOperation {
 protected:
  using MpiOperation::MpiOperation;

  // Batches of messages: the two rounds that arrive (0, 1), what the peers lay open, what this rank sends, and
  // sums on their way.
  enum Batch : int { kOffers = 2, kSends = 3, kSums = 4 };

  // A part of this rank's slice: what is summed, and where to. Parts are added in the order of their offers.
  struct Part {
    int64_t count = 0;
    DType dtype = DType::kF32;
    const void* own = nullptr;
    void* target = nullptr;
    DType target_dtype = DType::kF32;
    bool accumulate = false;
  };
  void add_part(const Part& part);

  // All parts were added: takes the memory that they go through.
  void make_room();
  // Posts the receives of the first rounds.
  void expect(Phase phase);
  bool reads(int q) const { return is_read(q, slice_bytes_); }

  // Sums the next round if it is here.
  bool sum_arrived();
  bool summed() const { return next_ == chunks_.size(); }
  // Elements [begin, begin + count) of a part are summed.
  virtual void share(const Part&, int64_t, int64_t) {}

 private:
  static constexpr int64_t kWindow = int64_t{256} << 10;

  struct Chunk {
    size_t part = 0;
    int round = 0;
    int64_t offset = 0;  // bytes from the start of its round
    int64_t begin = 0;   // elements from the start of its part
    int64_t count = 0;
  };

  std::byte* received(int q, const Chunk& chunk) const;

  // Posts the receives of the first round that has none.
  void receive_round();

  void sum(const Chunk& chunk);

  std::vector<Part> parts_;
  std::vector<Chunk> chunks_;
  Rounds rounds_;
  int64_t slice_bytes_ = 0;       // of one rank
  std::vector<int64_t> slots_;    // by group rank: place among those read, or among those that send
  int buffers_ = 0;               // rounds of one sender that have room at a time
  size_t next_ = 0, posted_ = 0;  // chunks
  std::vector<const void*> sources_;
  Tensor received_, window_;
};

}  // namespace octant::mpi
