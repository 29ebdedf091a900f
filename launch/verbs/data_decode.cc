#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>

#include "core/error.h"
#include "data/build.h"
#include "launch/job_world.h"
#include "launch/verbs/corpus_format.h"
#include "launch/verbs/data.h"

namespace octant {
namespace {

struct DecodeArguments {
  std::string prefix;
  std::string key = "text";
  CorpusFormat format = CorpusFormat::kText;
  std::optional<int64_t> document;
};

int decode(const DecodeArguments& arguments, Streams& streams) {
  refuse_many_processes("data decode");
  const IndexedDataset dataset(arguments.prefix);
  if (!arguments.document) {
    decode_dataset(dataset, arguments.format, arguments.key, streams.out);
  } else {
    const int64_t documents = dataset.index().documents();
    if (*arguments.document >= documents)
      throw UserError(fmt::format("--document {}: {} has {} documents, counted from 0", *arguments.document,
                                  arguments.prefix, documents));
    streams.out << decode_document(dataset, *arguments.document);
  }
  streams.out.flush();
  if (!streams.out) throw DataError("the decoded text cannot be written");
  return 0;
}

}  // namespace

void add_data_decode(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand(
      "decode", "prints the text of a data set that the byte tokenizer wrote, byte for byte");
  auto arguments = std::make_shared<DecodeArguments>();
  verb->add_option("PREFIX", arguments->prefix, "the data set's name without .bin and .idx")->required();
  verb->add_option("--document", arguments->document, "only this one, counted from 0")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--format", arguments->format, "text: one document after another; jsonl: one a line")
      ->type_name("FORMAT")
      ->transform(CLI::CheckedTransformer(corpus_formats(), CLI::ignore_case).description(""));
  verb->add_option("--key", arguments->key, "the JSON field that holds a document's text")
      ->capture_default_str();
  verb->callback([arguments, &chosen] {
    chosen = [arguments](Streams& streams) { return decode(*arguments, streams); };
  });
}

}  // namespace octant
