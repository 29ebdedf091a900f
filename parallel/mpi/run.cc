#include <unistd.h>

#include <array>
#include <numeric>
#include <optional>

#include "parallel/failure.h"
#include "parallel/mpi/communicator.h"
#include "parallel/mpi/direct_reads.h"
#include "parallel/mpi/engine.h"
#include "parallel/mpi/notices.h"
#include "parallel/mpi/session.h"
#include "parallel/world.h"

namespace octant::mpi {
namespace {

// How long a rank that knows of a failure waits for ranks that are still busy before it ends them.
constexpr double kGraceSeconds = 4;

class MpiWorld final : public World {
 public:
  MpiWorld(Channels& channels, DirectReads& direct, Notices& notices, const WorldOptions& options,
           Device& device)
      : channels_(channels),
        direct_(direct),
        device_(device),
        engine_(notices, device, recorder_, options),
        communicator_(world_site(notices, options), channels, traffic_) {}

  int rank() const override { return channels_.rank; }
  int size() const override { return channels_.size; }
  std::string transport() const override { return "mpi"; }
  std::string host() const override {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
  }
  std::string transfers() const override { return direct_.description(); }
  Device& device() override { return device_; }
  Communicator& communicator() override { return communicator_; }
  TrafficLedger& traffic() override { return traffic_; }
  TransportTimes times() const override { return engine_.times(); }
  void observe(TransportObserver* observer) override { engine_.observe(observer); }

  void finish() { engine_.wait_all(); }
  void give_up() noexcept { engine_.give_up(); }

 private:
  SitePtr world_site(const Notices& notices, const WorldOptions& options) {
    std::vector<int> members(static_cast<size_t>(channels_.size));
    std::iota(members.begin(), members.end(), 0);
    return std::make_shared<const Site>(Site{.engine = engine_,
                                             .device = device_,
                                             .channels = channels_,
                                             .direct = direct_,
                                             .notices = notices,
                                             .group = "world",
                                             .members = std::move(members),
                                             .rank = channels_.rank,
                                             .number = 0,
                                             .verify = options.verify_collectives});
  }

  Channels& channels_;
  DirectReads& direct_;
  Device& device_;
  TrafficLedger traffic_;
  FlightRecorder recorder_;
  MpiEngine engine_;
  MpiCommunicator communicator_;
};

// One world of this process, in the order in which it is taken down.
struct Job {
  explicit Job(const WorldOptions& options) : direct(channels, options.direct_reads) {}
  Channels channels;
  DirectReads direct;
  Notices notices{channels};
  std::unique_ptr<Device> device;
  std::optional<MpiWorld> world;
};

}  // namespace

WorldResult run(const WorldOptions& options, const DeviceFactory& make_device, const RankFunction& function) {
  const auto job = std::make_shared<Job>(options);
  std::optional<Failure> failure;
  try {
    job->device = make_device(job->channels.rank);
    job->world.emplace(job->channels, job->direct, job->notices, options, *job->device);
    function(*job->world);
    job->world->finish();
  } catch (...) {
    failure = describe(std::current_exception());
  }
  // Every buffer that a message may still reach outlives the last rank's end, and after a failure the library
  // itself.
  const WorldResult result = job->notices.conclude(failure, kGraceSeconds, options.last_words);
  if (result.exit_code != 0) {
    if (job->world) job->world->give_up();
    keep_until_finalised(job);
  }
  return result;
}

}  // namespace octant::mpi
