// The messages of one operation that are on their way: non-blocking sends and receives, tested together. Each
// belongs to a batch, a small number that its operation chooses, so that the operation can tell which of them
// are done. The library is locked where it is called, and all of an operation's transfers are one thread's at a
// time.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace octant::mpi {

class Transfers {
 public:
  // Longer messages are cut: MPI counts in int.
  static constexpr int64_t kLargestMessage = int64_t{64} << 20;
  static constexpr int kBatches = 5;

  explicit Transfers(std::mutex& library) : library_(library) {}

  // Of the messages from now on; 0 at first.
  void begin_batch(int batch) { batch_ = batch; }

  // The buffers must live until idle(), or after cancel() until the world has ended.
  void send(MPI_Comm channel, const void* data, int64_t bytes, int peer, int tag);
  void receive(MPI_Comm channel, void* data, int64_t bytes, int peer, int tag);
  // The same for a message that carries nothing and whose arrival counts.
  void send_empty(MPI_Comm channel, int peer, int tag);
  void receive_empty(MPI_Comm channel, int peer, int tag);

  // True when any message arrived or left. Throws BugError when one is not as long as expected.
  bool test();
  bool idle() const { return open_ == 0; }
  bool idle(int batch) const { return open_of_[static_cast<size_t>(batch)] == 0; }
  // The ranks whose messages have not arrived, and those that have not taken ours.
  std::vector<int> awaited() const;

  void cancel() noexcept;

 private:
  struct Expected {
    int peer = 0;
    int bytes = -1;  // -1: a send
    int batch = 0;
  };
  void add(MPI_Request request, int peer, int bytes);
  void post_send(MPI_Comm channel, const void* data, int bytes, int peer, int tag);
  void post_receive(MPI_Comm channel, void* data, int bytes, int peer, int tag);

  std::mutex& library_;
  std::vector<MPI_Request> requests_;
  std::vector<Expected> expected_;
  std::vector<int> finished_;
  std::vector<MPI_Status> statuses_;
  std::vector<size_t> free_;  // places of requests_ that are done
  int batch_ = 0;
  int open_ = 0;
  std::array<int, kBatches> open_of_{};
};

}  // namespace octant::mpi
