// One rank's view of the whole job: its world communicator, its ledgers, and how it fails.
//
//   threads::run(8, options, make_device, [](World& world) { … });  // eight ranks: threads of this process
//   mpi::run(options, make_device, [](World& world) { … });         // this process is one rank of mpirun's
//
// One rank never fails alone: `agree` ends a risky phase on every rank alike, and an exception that leaves a
// rank's function wakes all others out of their waits with PeerFailed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/device.h"
#include "core/log.h"
#include "parallel/communicator.h"
#include "parallel/process_grid.h"
#include "parallel/transport_times.h"

namespace octant {

// How a world ended: 0, or the code and text of the first failure (the one at fault, not a woken peer).
struct WorldResult {
  int exit_code = 0;
  int failed_rank = -1;
  std::string message;
};

// Called on a rank that knows how the world failed and is about to end processes that do not answer any more
// (mpi alone).
using LastWords = std::function<void(const WorldResult& result)>;

struct WorldOptions {
  bool verify_collectives = false;
  double collective_timeout_seconds = 600;  // 0 = none
  LastWords last_words = nullptr;
  bool direct_reads = true;  // mpi: read the memory of ranks on this host where the system allows it
};

class World {
 public:
  virtual ~World() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string transport() const = 0;  // "threads" or "mpi"
  virtual std::string host() const = 0;
  // How bytes go from rank to rank, for the start-up table.
  virtual std::string transfers() const = 0;
  virtual Device& device() = 0;
  virtual Communicator& communicator() = 0;  // the group "world"
  virtual TrafficLedger& traffic() = 0;

  // Where this rank's time in its transport went since the world began.
  virtual TransportTimes times() const = 0;
  // `observer` sees every wait and move from now on; null = nobody. It must outlive the world or be replaced.
  virtual void observe(TransportObserver* observer) = 0;

  // Runs `phase` on this rank, then learns how it went on every rank. If it threw anywhere, throws on every
  // rank: on those that failed their own exception, on the others PeerFailed with the first failing rank's
  // text and, for a user's or the environment's mistake, that rank's exit code. Collective over the world.
  // `what` names the phase in messages ("opening the data").
  void agree(const std::string& what, const std::function<void()>& phase);
};

// The groups of one rank in a grid, all cut from the world communicator. Collective over the world.
struct GridGroups {
  GridGroups(World& world, const ProcessGrid& grid);
  ProcessGrid grid;
  Coordinates at;
  std::unique_ptr<Communicator> data;
  std::unique_ptr<Communicator> tensor;
  std::unique_ptr<Communicator> pipeline;
  std::unique_ptr<Communicator>
      ends;  // first and last pipeline stage of this pipeline; on middle stages a group of one
};

using DeviceFactory = std::function<std::unique_ptr<Device>(int rank)>;
using RankFunction = std::function<void(World& world)>;

namespace threads {
// Runs `function` as `size` ranks on `size` threads of this process; returns when all have ended. Never
// throws what a rank threw.
WorldResult run(int size, const WorldOptions& options, const DeviceFactory& device,
                const RankFunction& function);
}  // namespace threads

namespace mpi {
// True when this process was started by mpirun (or another launcher that speaks PMIx/OMPI).
bool launched();
// Ranks that the launcher started and this process's rank, from its environment, before MPI_Init; {0, 1}
// without a launcher.
struct Launch {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
};
Launch launch();
// Runs `function` as this process's rank. Initialises MPI on first use and finalises it at exit. On failure
// every process returns the same code where all could be told; a rank that cannot reach its peers ends them
// with MPI_Abort.
WorldResult run(const WorldOptions& options, const DeviceFactory& device, const RankFunction& function);
}  // namespace mpi

}  // namespace octant
