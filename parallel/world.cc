#include "parallel/world.h"

#include <fmt/format.h>

#include <exception>

#include "core/error.h"
#include "parallel/failure.h"

namespace octant {

// A phase that communicates gains nothing here: its peers would wait inside the phase while the failed rank
// waits for their verdict. Let the exception leave the rank's function instead, which wakes everyone.
void World::agree(const std::string& what, const std::function<void()>& phase) {
  std::exception_ptr mine;
  Failure failure;
  try {
    phase();
  } catch (...) {
    mine = std::current_exception();
    failure = describe(mine);
    if (!failure.at_fault && failure.code == ExitCode::kPeer) throw;  // a peer has failed: nobody will answer
  }
  const std::string status =
      mine ? fmt::format("{} {}", static_cast<int>(failure.code), failure.text) : std::string();
  const std::vector<std::string> all = communicator().all_gather(status);
  if (mine) std::rethrow_exception(mine);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    const auto code = static_cast<ExitCode>(std::stoi(all[rank]));
    throw PeerFailed(
        fmt::format("rank {} failed in {}: {}", rank, what, all[rank].substr(all[rank].find(' ') + 1)), code);
  }
}

namespace {

std::unique_ptr<Communicator> cut(World& world, const ProcessGrid& grid, Axis axis) {
  const std::vector<int> members = grid.members(axis, world.rank());
  return world.communicator().split(std::string(name_of(axis)), members.front(), world.rank());
}

std::unique_ptr<Communicator> cut_ends(World& world, const ProcessGrid& grid, int pipeline_rank) {
  const int last = grid.sizes().pipeline - 1;
  const bool at_end = pipeline_rank == 0 || pipeline_rank == last;
  const int color = at_end ? grid.pipeline_ends(world.rank()).front() : world.rank();
  return world.communicator().split("ends", color, world.rank());
}

}  // namespace

GridGroups::GridGroups(World& world, const ProcessGrid& process_grid)
    : grid(process_grid),
      at((world.size() == process_grid.world_size())
             ? process_grid.coordinates(world.rank())
             : throw UserError(fmt::format(
                   "the grid data {} x tensor {} x pipeline {} needs {} ranks and the world has {}",
                   process_grid.sizes().data, process_grid.sizes().tensor, process_grid.sizes().pipeline,
                   process_grid.world_size(), world.size()))),
      data(cut(world, grid, Axis::kData)),
      tensor(cut(world, grid, Axis::kTensor)),
      pipeline(cut(world, grid, Axis::kPipeline)),
      ends(cut_ends(world, grid, at.pipeline)) {}

}  // namespace octant
