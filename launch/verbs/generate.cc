#include "train/generation.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "launch/checkpoint_argument.h"
#include "launch/exit_codes.h"
#include "launch/job_arguments.h"
#include "launch/job_world.h"
#include "launch/verbs.h"
#include "train/setup.h"

namespace octant {
namespace {

struct GenerateArguments {
  JobArguments job;
  std::string prompt;
  SamplingOptions sampling;
};

int run_generate(GenerateArguments arguments, Streams& streams) {
  refuse_many_processes("generate");
  const std::string folder = find_checkpoint(arguments.job.checkpoint, streams).string();
  arguments.job.checkpoint = folder;
  const Job job = load_job(arguments.job);
  // The prompt is the beginning of the text, so it is printed with it, once the model has been loaded.
  std::string before = arguments.prompt;
  const auto emit = [&](const std::string& text) {
    streams.out << std::exchange(before, {}) << text << std::flush;
  };
  const WorldResult result = threads::run(
      1, world_options(job), device_factory(job, placement_of(job, 1, false)),
      [&](World& world) { generate(world, job, folder, arguments.prompt, arguments.sampling, emit); });
  if (result.exit_code != 0) return fail(streams, result.exit_code, result.message);
  emit("\n");
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand(
      "generate", "continues a prompt with the model of a checkpoint, whatever layout wrote it");
  auto arguments = std::make_shared<GenerateArguments>();
  add_job_arguments(*verb, arguments->job);
  verb->get_option("--checkpoint")->required();
  SamplingOptions& sampling = arguments->sampling;
  verb->add_option("--prompt", arguments->prompt, "the beginning of the text")->type_name("TEXT")->required();
  verb->add_option("--max-new-tokens", sampling.max_new_tokens, "at most this many tokens are made")
      ->capture_default_str();
  verb->add_option("--temperature", sampling.temperature, "0: always the likeliest token")
      ->capture_default_str();
  verb->add_option("--top-k", sampling.top_k, "draw from the k likeliest tokens; 0: from all")
      ->capture_default_str();
  verb->add_option("--top-p", sampling.top_p,
                   "draw from the likeliest tokens that together have this probability")
      ->capture_default_str();
  verb->add_option("--seed", sampling.seed, "of the draws")->capture_default_str();
  verb->callback([arguments, &chosen] {
    chosen = [arguments](Streams& streams) { return run_generate(*arguments, streams); };
  });
}

}  // namespace octant
