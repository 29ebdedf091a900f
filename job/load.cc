#include "job/load.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "job/validate.h"

namespace octant {

std::string LoadedSpec::place_of(const std::string& path) const {
  for (std::string block = path; !block.empty();) {
    if (const auto found = places.find(block); found != places.end()) return found->second;
    const size_t cut = block.find_last_of(".[");
    block.resize(cut == std::string::npos ? 0 : cut);
  }
  return source;
}

LoadedSpec load_spec(const std::string& path, const std::vector<std::string>& overrides) {
  constexpr std::streamoff kMaxBytes = 1 << 20;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  LoadedSpec loaded;
  loaded.source = path;
  if (!file || !(text << file.rdbuf())) {
    // An empty file also fails to be copied; then the reading below says what is missing.
    const std::string reason = errno != 0 ? std::strerror(errno) : "";
    if (!file.is_open() || errno != 0) {
      loaded.errors.push_back(
          {path, "", "", "the job spec cannot be read" + (reason.empty() ? "" : ": " + reason), ""});
      loaded.complete = false;
      return loaded;
    }
  }
  if (static_cast<std::streamoff>(text.str().size()) > kMaxBytes) {
    loaded.errors.push_back({path, "", "", "the file is larger than 1 MiB", "give a job spec, not its data"});
    loaded.complete = false;
    return loaded;
  }
  const bool json = path.size() >= 5 && path.compare(path.size() - 5, 5, ".json") == 0;
  loaded = json ? parse_spec_json(text.str(), path) : parse_spec_text(text.str(), path);
  for (const std::string& assignment : overrides) apply_override(assignment, loaded);
  return loaded;
}

Job load_job(const std::string& path, const std::vector<std::string>& overrides,
             std::optional<int> started_ranks) {
  Validation result = validate(load_spec(path, overrides), started_ranks);
  if (!result.job) throw UserError(format_errors(result.errors));
  return std::move(*result.job);
}

}  // namespace octant
