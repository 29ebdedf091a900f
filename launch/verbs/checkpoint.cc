#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "checkpoint/inspect.h"
#include "core/error.h"
#include "launch/checkpoint_argument.h"
#include "launch/job_world.h"
#include "launch/verbs.h"

namespace octant {
namespace {

struct CheckpointArguments {
  std::string first, second;
  bool finite = false;
  bool weights_only = false;
};

int info(const CheckpointArguments& arguments, Streams& streams) {
  refuse_many_processes("checkpoint info");
  streams.out << checkpoint_info(find_checkpoint(arguments.first, streams)) << std::flush;
  return 0;
}

int check_bytes(const CheckpointArguments& arguments, Streams& streams) {
  refuse_many_processes("checkpoint verify");
  const auto folder = find_checkpoint(arguments.first, streams);
  const VerifyReport report = verify_checkpoint(folder, {.finite = arguments.finite});
  for (const std::string& problem : report.problems) streams.out << problem << '\n';
  if (!report.ok())
    throw DataError(fmt::format("{}: {} problem{}", folder.string(), report.problems.size(),
                                report.problems.size() == 1 ? "" : "s"));
  streams.out << fmt::format("{}: sound; {} tensors in {} slices, {} bytes", folder.string(), report.tensors,
                             report.slices, report.bytes)
              << std::endl;
  return 0;
}

int compare(const CheckpointArguments& arguments, Streams& streams) {
  refuse_many_processes("checkpoint diff");
  const auto first = find_checkpoint(arguments.first, streams);
  const auto second = find_checkpoint(arguments.second, streams);
  const DiffReport report = diff_checkpoints(first, second, {.weights_only = arguments.weights_only});
  streams.out << report.text() << std::flush;
  if (!report.same()) throw DataError(fmt::format("{} and {} differ", first.string(), second.string()));
  return 0;
}

using Run = int (*)(const CheckpointArguments&, Streams&);

CLI::App* add(CLI::App& app, VerbAction& chosen, const char* name, const char* about, Run run,
              const std::shared_ptr<CheckpointArguments>& arguments) {
  CLI::App* verb = app.add_subcommand(name, about);
  verb->callback([arguments, run, &chosen] {
    chosen = [arguments, run](Streams& streams) { return run(*arguments, streams); };
  });
  return verb;
}

}  // namespace

void add_checkpoint(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand(
      "checkpoint", "looks into checkpoints: a checkpoint's own folder, or the newest of a run's");
  verb->require_subcommand(1);
  auto arguments = std::make_shared<CheckpointArguments>();

  CLI::App* show =
      add(*verb, chosen, "info", "step, tokens, optimizer, files and every tensor", info, arguments);
  show->add_option("DIR", arguments->first, "the checkpoint")->required();

  CLI::App* prove = add(*verb, chosen, "verify", "reads every byte and compares it with its checksum",
                        check_bytes, arguments);
  prove->add_option("DIR", arguments->first, "the checkpoint")->required();
  prove->add_flag("--finite", arguments->finite, "also refuse NaN and infinities");

  CLI::App* diff =
      add(*verb, chosen, "diff",
          "compares two checkpoints tensor by tensor, whatever layouts wrote them; 3 if they differ", compare,
          arguments);
  diff->add_option("A", arguments->first, "one checkpoint")->required();
  diff->add_option("B", arguments->second, "the other")->required();
  diff->add_flag("--weights-only", arguments->weights_only, "leave the optimizer's moments out");
}

}  // namespace octant
