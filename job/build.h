// From the checked effective spec to the typed job.
#pragma once

#include "job/job.h"

namespace octant {

// `effective` has passed every rule.
Job build_job(const spec::Job& given, spec::Job effective, const BatchPlan& plan,
              std::vector<std::string> notices);

}  // namespace octant
