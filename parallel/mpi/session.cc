#include "parallel/mpi/session.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "core/error.h"

namespace octant::mpi {
namespace {

// A tag has 31 bits: 14 for the group, and 17 for a message's tag or a collective's phase (2) and call number
// (15).
constexpr int kGroupBits = 14;
constexpr int kCallBits = 15;
constexpr int kTagBits = 17;

class Library {
 public:
  Library() {
    int initialised = 0;
    MPI_Initialized(&initialised);
    if (initialised) return;
    // The library's own waits (start and end) give the core away too; what the user set stands.
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
      throw UserError(
          "MPI could not be initialised; start the ranks with mpirun of the same MPI installation");
    if (provided < MPI_THREAD_SERIALIZED)
      throw UserError(
          "this MPI library lets only one thread call it (it gives less than MPI_THREAD_SERIALIZED); use one "
          "that was built with thread support");
    owned_ = true;
  }
  ~Library() {
    int finalised = 0;
    MPI_Finalized(&finalised);
    if (owned_ && !finalised) MPI_Finalize();
  }

  std::vector<std::shared_ptr<void>> kept;

 private:
  bool owned_ = false;
};

MPI_Comm duplicate() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return copy;
}

// MPI is one per process by its own rules; this is its lifetime, and nothing else is global.
Library& library() {
  static Library one;
  return one;
}

}  // namespace

void start_library() {
  library();
}

void keep_until_finalised(std::shared_ptr<void> what) {
  library().kept.push_back(std::move(what));
}

Channels::Channels() {
  start_library();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  collectives = duplicate();
  messages = duplicate();
  notices = duplicate();
}

int collective_tag(int64_t group, Phase phase, int64_t sequence) {
  return static_cast<int>((group << kTagBits) | (static_cast<int64_t>(phase) << kCallBits) |
                          (sequence & ((1 << kCallBits) - 1)));
}

int message_tag(int64_t group, int tag) {
  return static_cast<int>((group << kTagBits) | tag);
}

void check_group_number(int64_t group) {
  if (group >= (1 << kGroupBits))
    throw BugError(
        fmt::format("group number {}: a world on mpi may make {} groups", group, (1 << kGroupBits) - 1));
}

}  // namespace octant::mpi
