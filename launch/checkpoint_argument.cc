#include "launch/checkpoint_argument.h"

#include <ostream>

#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "core/error.h"
#include "train/checkpointing.h"

namespace octant {
namespace {

namespace fs = std::filesystem;

// A path with a trailing slash has an empty last name.
fs::path without_slash(const std::string& given) {
  const fs::path path(given);
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

fs::path find_checkpoint(const std::string& given) {
  const fs::path folder = without_slash(given);
  if (!fs::is_directory(folder))
    throw DataError(given + ": there is no such folder; name a checkpoint or a run's output folder");
  const bool itself =
      fs::exists(folder / kManifestName) || step_of_checkpoint_name(folder.filename().string());
  return itself ? folder : resolve_checkpoint(folder.string());
}

fs::path find_checkpoint(const std::string& given, Streams& streams) {
  const fs::path folder = find_checkpoint(given);
  if (folder != without_slash(given))
    streams.err << "octant: using the checkpoint " << folder.string() << std::endl;
  return folder;
}

}  // namespace octant
