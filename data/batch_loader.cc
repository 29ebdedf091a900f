#include "data/batch_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/math/philox.h"
#include "data/byte_tokenizer.h"

namespace octant {

namespace {

void check(const LoaderConfig& config) {
  if (config.sequence_length < 1)
    throw UserError(
        fmt::format("model.sequence_length = {}: a sample needs at least one token; use 1 or more",
                    config.sequence_length));
  if (config.train.empty())
    throw UserError(
        "data.train: no source is named; give at least one, such as text { path: \"corpus.txt\" }");
  if (!(config.validation_fraction >= 0 && config.validation_fraction < 1))
    throw UserError(
        fmt::format("data.validation_fraction = {}: a fraction is at least 0 and below 1, such as 0.01",
                    config.validation_fraction));
  if (config.validation_fraction > 0 && !config.validation.empty())
    throw UserError(fmt::format(
        "data.validation_fraction = {} beside {} data.validation sources: only one of them can be the "
        "validation split; remove the other",
        config.validation_fraction, config.validation.size()));
  if (config.vocab_size < 1)
    throw UserError(
        fmt::format("model.vocab_size = {}: a vocabulary has at least one id", config.vocab_size));
  for (const auto* sources : {&config.train, &config.validation})
    for (const SourceConfig& source : *sources)
      if (source.kind == SourceKind::kText && config.vocab_size < ByteTokenizer::kVocabularySize)
        throw UserError(fmt::format(
            "model.vocab_size = {} is too small for {}: the byte tokenizer has {} ids; use {} or more",
            config.vocab_size, source.path, ByteTokenizer::kVocabularySize, ByteTokenizer::kVocabularySize));
}

}  // namespace

BatchLoader::BatchLoader(const LoaderConfig& config)
    : sequence_length_(config.sequence_length),
      reader_({.sequence_length = config.sequence_length,
               .vocab_size = config.vocab_size,
               .eod_mask_loss = config.eod_mask_loss,
               .eod_id = config.eod_id,
               .bad_ids = config.on_error}) {
  check(config);
  open_train(config);
  open_validation(config);
}

BatchLoader::~BatchLoader() = default;

void BatchLoader::open_train(const LoaderConfig& config) {
  std::vector<double> weights;
  for (const SourceConfig& source : config.train) weights.push_back(source.weight);
  const Blend checked(weights);  // bad weights are refused before any file is opened

  std::vector<TrainingOrder::Source> sources;
  for (const SourceConfig& source : config.train) {
    Opened opened{nullptr, source.path, {}};
    uint64_t fingerprint = 0;
    if (source.weight > 0) {
      opened.source = open_source(source);
      opened.path = opened.source->path();
      opened.split = split_windows(*opened.source, sequence_length_, config.validation_fraction);
      fingerprint = opened.source->fingerprint();
      validation_samples_ += opened.split.validation;
    }
    fingerprint_ = mix64(fingerprint_ ^ fingerprint);
    sources.push_back({source.weight, opened.split.train, fingerprint});
    train_.push_back(std::move(opened));
  }
  order_.emplace(config.seed, std::move(sources));
}

void BatchLoader::open_validation(const LoaderConfig& config) {
  for (const SourceConfig& source : config.validation) {
    Opened opened{open_source(source), "", {}};
    opened.path = opened.source->path();
    // All of it is the split: windows counted as of a training source that gives none away.
    opened.split = {0, split_windows(*opened.source, sequence_length_, 0).train};
    fingerprint_ = mix64(fingerprint_ ^ opened.source->fingerprint());
    validation_samples_ += opened.split.validation;
    validation_.push_back(std::move(opened));
  }
}

Sample BatchLoader::validation_sample(int64_t index) const {
  const std::vector<Opened>& sources = validation_.empty() ? train_ : validation_;
  for (size_t i = 0; i < sources.size(); ++i) {
    const WindowSplit& split = sources[i].split;
    if (index < split.validation) return {static_cast<int>(i), split.train + index};
    index -= split.validation;
  }
  throw BugError("a validation sample past the end of the split");
}

const TokenSource& BatchLoader::validation_source(int index) const {
  return *(validation_.empty() ? train_ : validation_)[static_cast<size_t>(index)].source;
}

int64_t BatchLoader::train_samples() const {
  int64_t samples = 0;
  for (const Opened& opened : train_) samples += opened.split.train;
  return samples;
}

std::vector<SourceSummary> BatchLoader::summary() const {
  std::vector<SourceSummary> rows;
  for (size_t i = 0; i < train_.size(); ++i)
    rows.push_back({train_[i].path, order_->weights()[i],
                    train_[i].source ? train_[i].source->total_tokens() : 0, train_[i].split.train,
                    train_[i].split.validation});
  for (const Opened& opened : validation_)
    rows.push_back({opened.path, 0.0, opened.source->total_tokens(), 0, opened.split.validation});
  return rows;
}

std::vector<std::string> BatchLoader::notices() const {
  std::vector<std::string> all;
  for (const auto* sources : {&train_, &validation_})
    for (const Opened& opened : *sources)
      if (opened.source)
        for (std::string& notice : opened.source->notices())
          if (std::find(all.begin(), all.end(), notice) == all.end()) all.push_back(std::move(notice));
  return all;
}

}  // namespace octant
