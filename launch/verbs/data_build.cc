#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>

#include "core/error.h"
#include "data/build.h"
#include "launch/job_world.h"
#include "launch/verbs/corpus_format.h"
#include "launch/verbs/data.h"

namespace octant {
namespace {

struct BuildArguments {
  BuildOptions options;
  std::optional<CorpusFormat> format;
  bool without_eod = false;
  bool skip_bad_lines = false;
};

CorpusFormat format_by_name(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".jsonl" || extension == ".json" ? CorpusFormat::kJsonLines : CorpusFormat::kText;
}

int build(const BuildArguments& arguments, Streams& streams) {
  refuse_many_processes("data build");
  BuildOptions options = arguments.options;
  options.format = arguments.format.value_or(format_by_name(options.inputs.front()));
  if (!arguments.format)
    for (const std::string& input : options.inputs)
      if (format_by_name(input) != options.format)
        throw UserError(fmt::format(
            "{} and {} are of different formats by their names; build them apart, or give --format",
            options.inputs.front(), input));
  options.append_eod = !arguments.without_eod;
  options.on_error = arguments.skip_bad_lines ? BadLines::kSkip : BadLines::kStop;
  const BuildReport report = build_dataset(options);
  for (const std::string& line : report.skipped_lines) streams.err << "octant: skipped " << line << '\n';
  streams.out << fmt::format("{}.bin, {}.idx: {} documents, {} tokens", options.output_prefix,
                             options.output_prefix, report.documents, report.tokens);
  if (report.empty_documents > 0)
    streams.out << fmt::format(", {} empty documents dropped", report.empty_documents);
  if (report.blank_lines > 0) streams.out << fmt::format(", {} blank lines", report.blank_lines);
  if (report.skipped > 0) streams.out << fmt::format(", {} lines skipped", report.skipped);
  streams.out << std::endl;
  return 0;
}

}  // namespace

void add_data_build(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand(
      "build", "makes PREFIX.bin and PREFIX.idx from text or JSONL, with the byte tokenizer");
  auto arguments = std::make_shared<BuildArguments>();
  BuildOptions& options = arguments->options;
  verb->add_option("FILES", options.inputs, "text: one document a file; JSONL: one a line")->required();
  verb->add_option("--output", options.output_prefix, "what the .bin and .idx are named")
      ->type_name("PREFIX")
      ->required();
  verb->add_option("--format", arguments->format,
                   "text or jsonl; by the name of the first file where not given")
      ->type_name("FORMAT")
      ->transform(CLI::CheckedTransformer(corpus_formats(), CLI::ignore_case).description(""));
  verb->add_option("--key", options.key, "the JSON field that holds a document's text")
      ->capture_default_str();
  verb->add_flag("--no-eod", arguments->without_eod, "do not end documents with the end-of-document token");
  verb->add_flag("--skip-bad-lines", arguments->skip_bad_lines,
                 "leave bad lines out, and name them, instead of stopping");
  verb->add_option("--workers", options.workers, "threads that tokenize")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb->callback([arguments, &chosen] {
    chosen = [arguments](Streams& streams) { return build(*arguments, streams); };
  });
}

}  // namespace octant
