#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>

#include "core/error.h"
#include "job/validate.h"
#include "launch/job_arguments.h"
#include "launch/sources_table.h"
#include "launch/verbs.h"
#include "parallel/world.h"
#include "train/evaluation.h"

namespace octant {
namespace {

struct CheckArguments {
  JobArguments job;
  int ranks = 0;  // 0: not given
};

// Everything but the spec itself is a comment, so that what `octant check` prints is a job spec.
void print_as_comments(std::ostream& out, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out << (line.empty() ? "#" : "# ") << line << '\n';
}

int check(const CheckArguments& arguments, Streams& streams) {
  std::optional<int> ranks;
  if (arguments.ranks > 0) ranks = arguments.ranks;
  if (!ranks && mpi::launched()) ranks = mpi::launch().size;
  const Job job = load_job(arguments.job, ranks);
  if (ranks) check_world(job, *ranks);
  if (mpi::launch().rank != 0) return 0;

  streams.out << effective_spec_text(job);
  for (const std::string& notice : job.notices) print_as_comments(streams.out, "note: " + notice);
  streams.out.flush();
  const BatchLoader data(loader_config(job));
  print_as_comments(streams.out, sources_table(data));
  for (const std::string& notice : data.notices()) print_as_comments(streams.out, "note: " + notice);
  streams.out.flush();
  return 0;
}

}  // namespace

void add_check(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand(
      "check", "reports everything that is wrong with a job; prints it with all defaults; opens its data");
  auto arguments = std::make_shared<CheckArguments>();
  add_job_arguments(*verb, arguments->job);
  verb->get_option("JOB")->excludes("--checkpoint");
  verb->add_option("--ranks", arguments->ranks, "also check that the job fits a world of this many ranks")
      ->check(CLI::PositiveNumber);
  verb->callback([arguments, &chosen] {
    chosen = [arguments](Streams& streams) { return check(*arguments, streams); };
  });
}

}  // namespace octant
