// What can go wrong, by who has to act. Every exception that leaves a room is one of these.
//
//   throw UserError(fmt::format("parallel.tensor={} does not divide model.num_kv_heads={}; use 1 or 3", t, k));
//
// A message says what was given, which rule it breaks and what would work. `exit_code()` is the documented code
// of the `octant` command (docs/architecture.md, "Exit codes").
#pragma once

#include <stdexcept>
#include <string>

namespace octant {

enum class ExitCode : int {
  kDone = 0,
  kBug = 1,
  kUsage = 2,
  kUnusable = 3,  // data, checkpoint or output folder; a full disk too
  kMemory = 4,
  kPeer = 5,       // a rank failed or timed out
  kDiverged = 6,   // a non-finite loss or gradient norm
  kPreempted = 75  // stopped by a signal after a checkpoint: start me again
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode exit_code() const { return code_; }

 private:
  ExitCode code_;
};

// The job spec, the command line, or a world that does not fit the spec.
struct UserError : Error {
  explicit UserError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

// A file, a disk, a checkpoint: the environment has to change.
struct DataError : Error {
  explicit DataError(const std::string& message) : Error(ExitCode::kUnusable, message) {}
};

// The device's memory budget would be passed; the message holds the ledger's table.
struct MemoryError : Error {
  explicit MemoryError(const std::string& message) : Error(ExitCode::kMemory, message) {}
};

// Another rank failed or did not answer in time. Thrown on the ranks that are woken, never on the one at fault.
// Carries the code of the rank at fault where all ranks agreed on what went wrong (World::agree).
struct PeerFailed : Error {
  explicit PeerFailed(const std::string& message, ExitCode code = ExitCode::kPeer) : Error(code, message) {}
};

// A non-finite loss or gradient norm under training.fail_at_nan.
struct DivergedError : Error {
  explicit DivergedError(const std::string& message) : Error(ExitCode::kDiverged, message) {}
};

// A broken invariant of our own code.
struct BugError : Error {
  explicit BugError(const std::string& message) : Error(ExitCode::kBug, message) {}
};

}  // namespace octant
