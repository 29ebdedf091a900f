// The accounts of a few steps of a run: what each operation cost and how near it came to its limit, where
// each rank's time went, and a trace of all of it.
//
//   Profile profile(world, {.steps = 3, …});           // the device runs on a ProfilingBackend
//   profile.before_step(0);  …step…  if (auto report = profile.after_step()) … report->table …
//
// All ranks call alike. The first two steps of a run warm up and are not measured. The trace is in the format
// that chrome://tracing and Perfetto read: a process for each rank, on it the operations, the transport, its
// progress thread and the steps. The times of ranks that are processes are set against a barrier that they leave together, to
// some tens of microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/profiling_backend.h"
#include "parallel/transport_times.h"
#include "parallel/world.h"
#include "train/machine_rate.h"

namespace octant {

struct ProfileOptions {
  int64_t steps = 0;  // to measure
  Neighbourhood where;
  DType compute = DType::kF32;
  std::string rank_name;  // "rank 3 (data 1, tensor 1, pipeline 0)"
};

// On rank 0; empty on the others.
struct ProfileReport {
  std::string table;
  std::string trace;  // JSON
};

class Profile final : public TransportObserver {
 public:
  Profile(World& world, const ProfileOptions& options);
  ~Profile() override;

  // `done`: steps that this run has finished. Begins to measure when it is time.
  void before_step(int64_t done);
  // The report, once the last step to measure has ended.
  std::optional<ProfileReport> after_step();
  // The run ends: the report of the steps that were measured, if any were and none was given yet.
  std::optional<ProfileReport> end();

  void waited(Clock::time_point begin, Clock::time_point end) override;
  void moved(Clock::time_point begin, Clock::time_point end) override;
  void hidden(Clock::time_point begin, Clock::time_point end) override;

 private:
  enum class State : uint8_t { kBefore, kMeasuring, kDone };
  struct Interval {
    Clock::time_point begin, end;
    bool moved = false;
  };
  struct Step {
    int64_t number = 0;
    Clock::time_point begin, end;
  };
  void begin();
  ProfileReport report();
  std::string accounts() const;
  std::string events() const;
  void keep(std::vector<Interval>& where, const Interval& interval);

  World& world_;
  ProfileOptions options_;
  ProfilingBackend& backend_;
  State state_ = State::kBefore;
  int64_t step_ = 0;
  Clock::time_point origin_;
  TransportTimes at_begin_;  // of the step under way
  TransportTimes in_steps_;
  std::vector<Step> steps_;
  std::vector<Interval> transport_;
  std::vector<Interval> progress_;  // of the progress thread, which alone adds to it while it is observed
  std::atomic<int64_t> lost_ = 0;
  MachineRate matmul_, memory_;
};

}  // namespace octant
