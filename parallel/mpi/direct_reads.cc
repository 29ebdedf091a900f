#include "parallel/mpi/direct_reads.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "core/error.h"

namespace octant::mpi {
namespace {

struct Card {
  std::array<char, 256> host{};
  pid_t process = 0;
  uint64_t address = 0;
  std::array<uint64_t, 2> proof{};
};

// 0 or errno.
int read_memory(pid_t process, void* to, uint64_t address, int64_t bytes) {
  char* target = static_cast<char*>(to);
  while (bytes > 0) {
    const iovec local{target, static_cast<size_t>(bytes)};
    const iovec remote{reinterpret_cast<void*>(address), static_cast<size_t>(bytes)};
    const ssize_t got = process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (got < 0) return errno;
    if (got == 0) return EFAULT;
    target += got;
    address += static_cast<uint64_t>(got);
    bytes -= got;
  }
  return 0;
}

}  // namespace

DirectReads::DirectReads(const Channels& channels, bool wanted)
    : process_(static_cast<size_t>(channels.size), 0) {
  const auto ranks = static_cast<size_t>(channels.size);
  if (!wanted || ranks == 1) {
    description_ = wanted ? "none: one rank" : "messages: direct reads are switched off";
    return;
  }
#ifdef PR_SET_PTRACER
  // Where only parents may read their children's memory, ranks allow their siblings too.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
  std::random_device random;
  for (uint64_t& word : proof_) word = (static_cast<uint64_t>(random()) << 32) | random();
  std::vector<Card> cards(ranks);
  Card mine;
  gethostname(mine.host.data(), mine.host.size() - 1);
  mine.process = getpid();
  mine.address = reinterpret_cast<uint64_t>(proof_.data());
  mine.proof = proof_;
  MPI_Allgather(&mine, sizeof(Card), MPI_BYTE, cards.data(), sizeof(Card), MPI_BYTE, channels.collectives);

  const auto me = static_cast<size_t>(channels.rank);
  std::vector<char> readable(ranks, 0);
  int neighbours = 0, refusal = 0;
  for (size_t q = 0; q < ranks; ++q) {
    if (q == me || cards[q].host != mine.host) continue;
    ++neighbours;
    std::array<uint64_t, 2> seen{};
    const int error = read_memory(cards[q].process, seen.data(), cards[q].address, sizeof(seen));
    readable[q] = error == 0 && seen == cards[q].proof;
    if (!readable[q]) refusal = error != 0 ? error : ESRCH;
  }
  // This is also what keeps each proof in place until all have read it.
  std::vector<char> all(ranks * ranks);
  MPI_Allgather(readable.data(), channels.size, MPI_BYTE, all.data(), channels.size, MPI_BYTE,
                channels.collectives);
  int direct = 0;
  for (size_t q = 0; q < ranks; ++q)
    if (all[me * ranks + q] && all[q * ranks + me]) {
      process_[q] = cards[q].process;
      ++direct;
    }
  if (neighbours == 0)
    description_ = "messages: every rank is on a host of its own";
  else if (direct == neighbours)
    description_ = "direct reads within a host";
  else
    description_ = fmt::format("messages to {} of {} ranks on this host, whose memory cannot be read ({})",
                               neighbours - direct, neighbours,
                               refusal != 0 ? std::strerror(refusal) : "they may not read this rank's");
}

void DirectReads::read(int world_rank, void* to, uint64_t address, int64_t bytes) const {
  const int error = read_memory(process_[static_cast<size_t>(world_rank)], to, address, bytes);
  if (error != 0)
    throw PeerFailed(fmt::format("the memory of rank {} cannot be read any more ({}): its process is ending",
                                 world_rank, std::strerror(error)));
}

}  // namespace octant::mpi
