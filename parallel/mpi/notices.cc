#include "parallel/mpi/notices.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace octant::mpi {
namespace {

constexpr size_t kLongestText = 16384;

struct Header {
  int32_t failed = 0;
  int32_t code = 0;
  int32_t at_fault = 0;
};

}  // namespace

Notices::Notices(const Channels& channels)
    : channels_(channels),
      incoming_(sizeof(Header) + kLongestText),
      ended_(static_cast<size_t>(channels.size), false),
      failures_(static_cast<size_t>(channels.size)),
      missing_(channels.size - 1) {
  post_receive();
}

void Notices::post_receive() {
  if (missing_ > 0)
    MPI_Irecv(incoming_.data(), static_cast<int>(incoming_.size()), MPI_BYTE, MPI_ANY_SOURCE, 0,
              channels_.notices, &request_);
}

void Notices::poll() {
  const std::lock_guard lock(channels_.library);
  while (missing_ > 0) {
    int arrived = 0;
    MPI_Status status;
    MPI_Test(&request_, &arrived, &status);
    if (!arrived) return;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Header header;
    std::memcpy(&header, incoming_.data(), sizeof(header));
    const auto rank = static_cast<size_t>(status.MPI_SOURCE);
    ended_[rank] = true;
    --missing_;
    if (header.failed) {
      failures_[rank] =
          Failure{static_cast<ExitCode>(header.code),
                  std::string(incoming_.data() + sizeof(header), static_cast<size_t>(bytes) - sizeof(header)),
                  header.at_fault != 0};
      if (first_failed_ < 0) first_failed_ = status.MPI_SOURCE;
    }
    post_receive();
  }
}

WorldResult Notices::verdict() const {
  for (const bool at_fault : {true, false})
    for (size_t rank = 0; rank < failures_.size(); ++rank)
      if (failures_[rank] && (failures_[rank]->at_fault || !at_fault))
        return {static_cast<int>(failures_[rank]->code), static_cast<int>(rank), failures_[rank]->text};
  return {};
}

WorldResult Notices::conclude(const std::optional<Failure>& mine, double grace_seconds,
                              const LastWords& last_words) {
  using Clock = std::chrono::steady_clock;
  failures_[static_cast<size_t>(channels_.rank)] = mine;
  std::vector<char> outgoing(sizeof(Header) + (mine ? std::min(mine->text.size(), kLongestText) : 0));
  const Header header = mine ? Header{1, static_cast<int32_t>(mine->code), mine->at_fault} : Header{};
  std::memcpy(outgoing.data(), &header, sizeof(header));
  if (mine)
    std::memcpy(outgoing.data() + sizeof(header), mine->text.data(), outgoing.size() - sizeof(header));

  std::vector<MPI_Request> sends;
  for (int rank = 0; rank < channels_.size; ++rank) {
    if (rank == channels_.rank) continue;
    MPI_Request& request = sends.emplace_back(MPI_REQUEST_NULL);
    const std::lock_guard lock(channels_.library);
    MPI_Isend(outgoing.data(), static_cast<int>(outgoing.size()), MPI_BYTE, rank, 0, channels_.notices,
              &request);
  }
  std::optional<Clock::time_point> deadline;
  auto nap = std::chrono::microseconds(20);
  while (true) {
    poll();
    int sent = 0;
    {
      const std::lock_guard lock(channels_.library);
      MPI_Testall(static_cast<int>(sends.size()), sends.data(), &sent, MPI_STATUSES_IGNORE);
    }
    if (sent && missing_ == 0) return verdict();
    const WorldResult known = verdict();
    if (known.exit_code != 0) {
      if (!deadline)
        deadline = Clock::now() +
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(grace_seconds));
      if (Clock::now() > *deadline) {
        if (last_words) last_words(known);
        MPI_Abort(MPI_COMM_WORLD, known.exit_code);
      }
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, std::chrono::microseconds(2000));
  }
}

}  // namespace octant::mpi
