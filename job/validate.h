// The one validator, pure: it opens no file and every verb of the command runs it. It reports everything that
// is wrong at once.
//
//   Validation v = validate(loaded);
//   if (!v.job) throw UserError(format_errors(v.errors));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/job.h"
#include "job/load.h"
#include "job/spec_error.h"

namespace octant {

struct Validation {
  std::optional<Job> job;         // present exactly if there are no errors
  std::vector<SpecError> errors;  // those of loading first
};

// `started_ranks`: how many ranks the launcher has started, where that is known: a parallel.data that is not
// given is then started_ranks / (tensor × pipeline), otherwise 1.
Validation validate(const LoadedSpec& loaded, std::optional<int> started_ranks = std::nullopt);

// Throws UserError with both numbers unless the job's data × tensor × pipeline is `started_ranks`.
void check_world(const Job& job, int started_ranks);

// "2GiB", "512MiB", "64KiB", "1.5GB", plain bytes; "none" and "" are 0 (no limit). nullopt: not a size.
std::optional<int64_t> parse_size(const std::string& text);

}  // namespace octant
