// What most verbs take: JOB.pbtxt (or .json), any number of --set path=value, and --checkpoint DIR, whose
// manifest holds the job where no file is given.
//
//   auto arguments = std::make_shared<JobArguments>();
//   add_job_arguments(*verb, *arguments);               // when the command line is declared
//   Job job = load_job(*arguments);                     // in the action; throws UserError with all errors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/job.h"

namespace CLI {
class App;
}

namespace octant {

struct JobArguments {
  std::string job;                // empty: not given
  std::vector<std::string> sets;  // path.to.field=value, in their order
  std::string checkpoint;         // empty: not given
  int64_t profile_steps = 0;      // training keeps accounts of so many steps
  bool begins_there = false;      // training begins at the checkpoint, whatever the spec says about resuming
};

void add_job_arguments(CLI::App& verb, JobArguments& arguments);
// Without --checkpoint.
void add_job_file_arguments(CLI::App& verb, JobArguments& arguments);

// `started_ranks`: how many ranks will run the job, where that is known.
Job load_job(const JobArguments& arguments, std::optional<int> started_ranks = std::nullopt);

}  // namespace octant
