#include <fmt/format.h>

#include "job/rules.h"

namespace octant {
namespace {

constexpr int64_t kByteVocabulary = 257;  // 256 bytes and end-of-document

void check_source(const spec::DataSource& source, const std::string& path, const spec::Job& job,
                  SpecReport& report) {
  switch (source.source_case()) {
    case spec::DataSource::kText:
      if (source.text().path().empty()) report.add(path + ".text.path", "is required", "name a text file");
      if (source.text().tokenizer().has_bytes() && job.model().vocab_size() >= 1 &&
          job.model().vocab_size() < kByteVocabulary)
        report.add("model.vocab_size",
                   fmt::format("is too small for the bytes tokenizer of {}, which has {} ids", path,
                               kByteVocabulary),
                   "use 257 or more");
      break;
    case spec::DataSource::kIndexed:
      if (source.indexed().prefix().empty())
        report.add(path + ".indexed.prefix", "is required", "name the common prefix of a .bin and .idx file");
      break;
    case spec::DataSource::SOURCE_NOT_SET:
      report.add(path, "names no data", "give text { path: \"…\" } or indexed { prefix: \"…\" }");
      break;
  }
  if (source.weight() < 0) report.add(path + ".weight", "must be at least 0", "use 1");
}

template <class Sources>
void check_split(const Sources& sources, const std::string& name, const spec::Job& job, SpecReport& report) {
  double total = 0;
  for (int i = 0; i < sources.size(); ++i) {
    check_source(sources[i], fmt::format("{}[{}]", name, i), job, report);
    total += sources[i].weight();
  }
  if (sources.size() > 0 && total == 0)
    report.add(name + "[0].weight", "is 0, and so are the weights of all of " + name,
               "give one source a weight above 0");
}

}  // namespace

void check_data(const spec::Job& job, SpecReport& report) {
  const spec::Data& d = job.data();
  if (d.train_size() == 0)
    report.add("data.train", "is required",
               "give train { text { path: \"corpus.txt\" tokenizer { bytes {} } } }");
  check_split(d.train(), "data.train", job, report);
  check_split(d.validation(), "data.validation", job, report);
  if (!(d.validation_fraction() >= 0 && d.validation_fraction() < 1))
    report.add("data.validation_fraction", "must be in [0, 1)", "use 0.01");
  else if (d.validation_fraction() > 0 && d.validation_size() > 0)
    report.add("data.validation_fraction", "stands beside data.validation, a split of its own",
               "keep one of the two");
}

}  // namespace octant
