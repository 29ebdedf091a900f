#include "parallel/mpi/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"

namespace octant::mpi {
namespace {

void check(int code, const char* what, int peer) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw PeerFailed(fmt::format("mpi could not {} rank {}: {}", what, peer, text.data()));
}

}  // namespace

void Transfers::add(MPI_Request request, int peer, int bytes) {
  const Expected expected{peer, bytes, batch_};
  if (free_.empty()) {
    requests_.push_back(request);
    expected_.push_back(expected);
  } else {
    requests_[free_.back()] = request;
    expected_[free_.back()] = expected;
    free_.pop_back();
  }
  ++open_;
  ++open_of_[static_cast<size_t>(batch_)];
}

void Transfers::post_send(MPI_Comm channel, const void* data, int bytes, int peer, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const std::lock_guard lock(library_);
    check(MPI_Isend(data, bytes, MPI_BYTE, peer, tag, channel, &request), "send to", peer);
  }
  add(request, peer, -1);
}

void Transfers::post_receive(MPI_Comm channel, void* data, int bytes, int peer, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const std::lock_guard lock(library_);
    check(MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, channel, &request), "receive from", peer);
  }
  add(request, peer, bytes);
}

void Transfers::send(MPI_Comm channel, const void* data, int64_t bytes, int peer, int tag) {
  for (int64_t begin = 0; begin < bytes; begin += kLargestMessage)
    post_send(channel, static_cast<const char*>(data) + begin,
              static_cast<int>(std::min(kLargestMessage, bytes - begin)), peer, tag);
}

void Transfers::receive(MPI_Comm channel, void* data, int64_t bytes, int peer, int tag) {
  for (int64_t begin = 0; begin < bytes; begin += kLargestMessage)
    post_receive(channel, static_cast<char*>(data) + begin,
                 static_cast<int>(std::min(kLargestMessage, bytes - begin)), peer, tag);
}

void Transfers::send_empty(MPI_Comm channel, int peer, int tag) {
  post_send(channel, nullptr, 0, peer, tag);
}

void Transfers::receive_empty(MPI_Comm channel, int peer, int tag) {
  post_receive(channel, nullptr, 0, peer, tag);
}

bool Transfers::test() {
  if (open_ == 0) return false;
  finished_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const std::lock_guard lock(library_);
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                finished_.data(), statuses_.data());
  if (count == MPI_UNDEFINED || count == 0) {
    check(code, "exchange with", expected_.front().peer);
    return false;
  }
  open_ -= count;
  for (int i = 0; i < count; ++i) {
    const auto place = static_cast<size_t>(finished_[static_cast<size_t>(i)]);
    const Expected& expected = expected_[place];
    --open_of_[static_cast<size_t>(expected.batch)];
    free_.push_back(place);
    const MPI_Status& status = statuses_[static_cast<size_t>(i)];
    const int error = code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS;
    int error_class = MPI_SUCCESS;
    if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
    int bytes = expected.bytes;
    if (error == MPI_SUCCESS && expected.bytes >= 0) MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (error_class == MPI_ERR_TRUNCATE || bytes != expected.bytes)
      throw BugError(fmt::format("rank {} sent {} bytes where {} were expected", expected.peer,
                                 error_class == MPI_ERR_TRUNCATE ? "more" : std::to_string(bytes),
                                 expected.bytes));
    check(error, "exchange with", expected.peer);
  }
  if (open_ == 0) {
    requests_.clear();
    expected_.clear();
    free_.clear();
  }
  return true;
}

std::vector<int> Transfers::awaited() const {
  std::vector<int> ranks;
  for (size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i] != MPI_REQUEST_NULL) ranks.push_back(expected_[i].peer);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

void Transfers::cancel() noexcept {
  const std::lock_guard lock(library_);
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    if (expected_[i].bytes >= 0) MPI_Cancel(&requests_[i]);
    MPI_Request_free(&requests_[i]);
  }
  requests_.clear();
  expected_.clear();
  free_.clear();
  open_ = 0;
  open_of_ = {};
}

}  // namespace octant::mpi
