#include "parallel/mpi/summing_operation.h"

#include "parallel/pieces.h"

namespace octant::mpi {

void SummingOperation::add_part(const Part& part) {
  rounds_.cut(part.count, size_of(part.dtype), [&](int round, int64_t offset, int64_t begin, int64_t count) {
    chunks_.push_back(
        {.part = parts_.size(), .round = round, .offset = offset, .begin = begin, .count = count});
  });
  parts_.push_back(part);
  slice_bytes_ += part.count * size_of(part.dtype);
}

void SummingOperation::make_room() {
  slots_ = std::vector<int64_t>(static_cast<size_t>(size()), 0);
  int64_t senders = 0, read = 0;
  for (int step = 1; step < size(); ++step) {
    const int q = peer(step);
    slots_[static_cast<size_t>(q)] = reads(q) ? read++ : senders++;
  }
  buffers_ = chunks_.empty() ? 0 : std::min(2, chunks_.back().round + 1);
  if (senders > 0 && buffers_ > 0)
    received_ =
        device().allocate({senders * buffers_ * rounds_.longest()}, DType::kU8, MemoryKind::kCommunication);
  if (read > 0) window_ = device().allocate({read * kWindow}, DType::kU8, MemoryKind::kCommunication);
}

void SummingOperation::expect(Phase phase) {
  transfers_.begin_batch(kOffers);
  for (int step = 1; step < size(); ++step)
    if (reads(peer(step))) receive_offers(peer(step), static_cast<int>(parts_.size()), phase);
  for (int round = 0; round < buffers_; ++round) receive_round();
  transfers_.begin_batch(kSends);
}

std::byte* SummingOperation::received(int q, const Chunk& chunk) const {
  const int64_t buffer = slots_[static_cast<size_t>(q)] * buffers_ + chunk.round % 2;
  return element(received_.data(), buffer * rounds_.longest() + chunk.offset, DType::kU8);
}

void SummingOperation::receive_round() {
  if (posted_ == chunks_.size()) return;
  const int round = chunks_[posted_].round;
  transfers_.begin_batch(round % 2);
  for (; posted_ < chunks_.size() && chunks_[posted_].round == round; ++posted_) {
    const Chunk& chunk = chunks_[posted_];
    const int64_t bytes = chunk.count * size_of(parts_[chunk.part].dtype);
    for (int step = 1; step < size(); ++step)
      if (!reads(peer(step))) receive_from(peer(step), received(peer(step), chunk), bytes);
  }
}

bool SummingOperation::sum_arrived() {
  if (summed() || !transfers_.idle(kOffers)) return false;
  const int round = chunks_[next_].round;
  if (!transfers_.idle(round % 2)) return false;
  const size_t first = next_;
  for (; next_ < chunks_.size() && chunks_[next_].round == round; ++next_) sum(chunks_[next_]);
  mover().ops.synchronize(mover().stream);
  for (size_t chunk = first; chunk < next_; ++chunk)
    share(parts_[chunks_[chunk].part], chunks_[chunk].begin, chunks_[chunk].count);
  receive_round();
  return true;
}

void SummingOperation::sum(const Chunk& chunk) {
  const Part& part = parts_[chunk.part];
  const int64_t width = size_of(part.dtype);
  sources_.resize(static_cast<size_t>(size()));
  bool any_read = false;
  for (int step = 1; step < size(); ++step) {
    if (!reads(peer(step))) continue;
    check_offer(peer(step), chunk.part, part.count * width);
    any_read = true;
  }
  const int64_t most = any_read ? kWindow / width : chunk.count;
  for (int64_t done = 0; done < chunk.count; done += most) {
    const int64_t count = std::min(most, chunk.count - done), begin = chunk.begin + done;
    sources_[static_cast<size_t>(rank())] = element(part.own, begin, part.dtype);
    for (int step = 1; step < size(); ++step) {
      const int q = peer(step);
      std::byte* here = nullptr;
      if (reads(q)) {
        here = element(window_.data(), slots_[static_cast<size_t>(q)] * kWindow, DType::kU8);
        read_offer(q, chunk.part, begin * width, here, count * width);
      } else {
        here = received(q, chunk) + done * width;
      }
      sources_[static_cast<size_t>(q)] = here;
    }
    mover().ops.reduce(mover().stream, {.n = count,
                                        .whole = part.count,
                                        .num_sources = size(),
                                        .sources = sources_.data(),
                                        .dtype = part.dtype,
                                        .out = element(part.target, begin, part.target_dtype),
                                        .out_dtype = part.target_dtype,
                                        .op = call().reduce,
                                        .accumulate = part.accumulate});
  }
}

}  // namespace octant::mpi
