#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "core/error.h"
#include "data/byte_tokenizer.h"
#include "data/info.h"
#include "launch/job_world.h"
#include "launch/verbs/data.h"

namespace octant {
namespace {

struct InfoArguments {
  std::string prefix;
  bool scan = false;
  int64_t vocab_size = ByteTokenizer::kVocabularySize;
};

void print_info(const DatasetInfo& info, std::ostream& out) {
  const auto line = [&](std::string_view name, const std::string& value) {
    out << fmt::format("{:<18}{}\n", name, value);
  };
  line("token type", std::string(name_of(info.type)));
  line("tokens", fmt::format("{}, {} bytes", info.tokens, info.bytes));
  line("documents", fmt::format("{}, {} of them empty", info.documents, info.empty_documents));
  line("sequences", fmt::format("{}, {} of them empty", info.sequences, info.empty_sequences));
  line("sequence lengths", fmt::format("{} to {}", info.shortest_sequence, info.longest_sequence));
  line("fingerprint", fmt::format("{:016x}", info.fingerprint));
}

void scan(const IndexedDataset& dataset, int64_t vocab_size, Streams& streams) {
  const ScanReport report = scan_ids(dataset, vocab_size);
  streams.out << fmt::format("{:<18}{} to {}\n", "ids", report.smallest_id, report.largest_id);
  if (report.outside == 0) {
    streams.out << fmt::format("{:<18}every id is below {}\n", "scan", vocab_size);
    return;
  }
  for (const ScanReport::Place& found : report.places)
    streams.out << fmt::format("  {}: document {}, position {}: id {}\n", found.place.file,
                               found.place.document, found.place.position, found.id);
  throw DataError(fmt::format("{}: {} of {} ids are outside the vocabulary of {}", dataset.path(),
                              report.outside, report.tokens, vocab_size));
}

int info(const InfoArguments& arguments, Streams& streams) {
  refuse_many_processes("data info");
  const IndexedDataset dataset(arguments.prefix);
  print_info(describe(dataset), streams.out);
  for (const std::string& notice : dataset.notices()) streams.out << "note: " << notice << '\n';
  if (arguments.scan) scan(dataset, arguments.vocab_size, streams);
  streams.out.flush();
  return 0;
}

}  // namespace

void add_data_info(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand("info", "checks an index and says what its data set holds");
  auto arguments = std::make_shared<InfoArguments>();
  verb->add_option("PREFIX", arguments->prefix, "the data set's name without .bin and .idx")->required();
  verb->add_flag("--scan", arguments->scan, "also read every token, and check that it is in the vocabulary");
  verb->add_option("--vocab-size", arguments->vocab_size, "of the scan")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->callback(
      [arguments, &chosen] { chosen = [arguments](Streams& streams) { return info(*arguments, streams); }; });
}

}  // namespace octant
