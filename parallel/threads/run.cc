#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "parallel/failure.h"
#include "parallel/threads/communicator.h"
#include "parallel/threads/fabric.h"
#include "parallel/world.h"

namespace octant::threads {
namespace {

class ThreadEngine final : public Engine {
 public:
  ThreadEngine(Fabric& fabric, int rank, Device& device)
      : Engine(device, fabric.recorder(rank), fabric.options().collective_timeout_seconds),
        fabric_(fabric),
        rank_(rank) {
    if (device.carrier() != nullptr) fabric.announce_progress_thread(rank);
  }
  ~ThreadEngine() override { abandon(); }

  bool failed() override { return fabric_.failed(); }

 private:
  void throw_failure() override {
    const WorldResult failure = fabric_.result();
    throw PeerFailed(fmt::format("rank {} failed: {}", failure.failed_rank, failure.message));
  }
  uint64_t ticket() override { return fabric_.ticket(rank_); }
  void block(uint64_t ticket, Clock::time_point, Clock::time_point deadline) override {
    fabric_.block(rank_, ticket, deadline);
  }
  std::string flights() const override { return fabric_.flights(); }
  Mailbox& progress_mailbox() override { return fabric_.progress_mailbox(rank_); }
  Clock::time_point look_again(Clock::time_point) override { return Clock::time_point::max(); }
  void wake_rank() override { fabric_.wake(rank_); }

  Fabric& fabric_;
  int rank_;
};

class ThreadWorld final : public World {
 public:
  ThreadWorld(Fabric& fabric, std::shared_ptr<Group> group, int rank, Device& device)
      : fabric_(fabric),
        rank_(rank),
        device_(device),
        engine_(fabric, rank, device),
        communicator_("world", std::move(group), rank, engine_, device, traffic_) {}

  int rank() const override { return rank_; }
  int size() const override { return fabric_.size(); }
  std::string transport() const override { return "threads"; }
  std::string host() const override {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
  }
  std::string transfers() const override { return "peers' buffers are read in place"; }
  Device& device() override { return device_; }
  Communicator& communicator() override { return communicator_; }
  TrafficLedger& traffic() override { return traffic_; }
  TransportTimes times() const override { return engine_.times(); }
  void observe(TransportObserver* observer) override { engine_.observe(observer); }

  void finish() { engine_.wait_all(); }

 private:
  Fabric& fabric_;
  int rank_;
  Device& device_;
  TrafficLedger traffic_;
  ThreadEngine engine_;
  ThreadCommunicator communicator_;
};

void run_rank(Fabric& fabric, const std::shared_ptr<Group>& group, int rank, const DeviceFactory& make_device,
              const RankFunction& function) {
  const auto tell = [&] {
    const Failure failure = describe(std::current_exception());
    fabric.fail(rank, failure.code, failure.text, failure.at_fault);
  };
  try {
    const std::unique_ptr<Device> device = make_device(rank);
    ThreadWorld world(fabric, group, rank, *device);
    // Peers are told before this rank's engine ends, which waits for those that still read its buffers.
    try {
      function(world);
      world.finish();
      fabric.end(rank);
    } catch (...) {
      tell();
    }
  } catch (...) {
    tell();
  }
}

}  // namespace

WorldResult run(int size, const WorldOptions& options, const DeviceFactory& device,
                const RankFunction& function) {
  if (size < 1)
    return {static_cast<int>(ExitCode::kUsage), 0,
            fmt::format("a world of {} ranks; it needs at least one", size)};
  Fabric fabric(size, options);
  std::vector<int> members(static_cast<size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  const auto group = std::make_shared<Group>(fabric, "world", std::move(members));
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] { run_rank(fabric, group, rank, device, function); });
  for (std::jthread& thread : threads) thread.join();
  return fabric.result();
}

}  // namespace octant::threads
