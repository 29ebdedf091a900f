// Global batches from the job's sources: each data rank reads its own part, as a pure function of the
// consumed samples.
//
//   BatchLoader loader(config);                                          // opens and checks every file
//   Cut cut{.data_rank = 1, .data_size = 2, .micro_batch_size = 4, .accumulation = 8};
//   Batch batch = loader.load(device, cut, consumed_samples, step);
//
// The global batch of G = data_size · micro_batch_size · accumulation holds samples consumed … consumed + G -
// 1 of the training order, whatever the cut. Micro-batch m of data rank d holds those at (m · data_size + d)
// · B + b, and these offsets are its sample ids. All ranks of one data coordinate load the same batch, so
// nothing is sent between ranks and only `consumed_samples` needs to be saved.
//
// Validation is either the sources named for it or the last part of each training source (data/windows.h),
// read in natural order.
//
// A loader is immutable after construction and may be shared by the rank threads of a process; each passes
// its own device. Calls block on the disk. Errors are DataError (files, ids outside the vocabulary) or
// UserError (weights, a vocabulary too small).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/micro_batch.h"
#include "data/sample_reader.h"
#include "data/source.h"
#include "data/training_order.h"
#include "data/windows.h"

namespace octant {

struct LoaderConfig {
  std::vector<SourceConfig> train;
  std::vector<SourceConfig> validation;  // weights are not used
  double validation_fraction = 0;        // of each training source; must be 0 beside validation sources
  int64_t sequence_length = 0;
  int64_t vocab_size = 0;  // logical: rows of padding hold no id
  bool eod_mask_loss = false;
  int32_t eod_id = 256;
  BadIds on_error = BadIds::kStop;
  uint64_t seed = 0;
};

// One data rank's share of a global batch.
struct Cut {
  int64_t data_rank = 0;
  int64_t data_size = 1;
  int64_t micro_batch_size = 1;
  int64_t accumulation = 1;

  int64_t global_batch() const { return data_size * micro_batch_size * accumulation; }
};

// A data rank's part of a global batch in host memory, micro-batch after micro-batch: rows of T.
struct HostBatch {
  std::vector<int32_t> tokens, targets;
  std::vector<uint8_t> mask;
  std::vector<int64_t> sample_ids;
  int64_t counted_tokens = 0;

  // Work space of the loader.
  std::vector<Sample> samples;
  std::vector<int32_t> window;
};

// For the start-up table.
struct SourceSummary {
  std::string path;
  double weight = 0;  // normalised
  int64_t tokens = 0;
  int64_t train_samples = 0;
  int64_t validation_samples = 0;
};

class BatchLoader {
 public:
  explicit BatchLoader(const LoaderConfig& config);
  ~BatchLoader();

  Batch load(Device& device, const Cut& cut, int64_t consumed_samples, int64_t step) const;

  // Samples [first_sample, first_sample + count) of the validation split; what the batch has room for beyond
  // them is masked filler, so that a rank without samples still takes part. `count` is at most the cut's
  // global batch.
  //   for (int64_t first = 0; first < loader.validation_samples(); first += cut.global_batch()) …
  Batch load_validation(Device& device, const Cut& cut, int64_t first_sample, int64_t count) const;
  int64_t validation_samples() const { return validation_samples_; }

  // The same without a device, into `out`, whose memory is reused.
  void assemble(const Cut& cut, int64_t consumed_samples, HostBatch& out) const;
  void assemble_validation(const Cut& cut, int64_t first_sample, int64_t count, HostBatch& out) const;

  // Which source and window each sample of the training order is.
  void samples(int64_t begin, std::span<Sample> out) const { order_->samples(begin, out); }
  // Samples of one pass over every training source.
  int64_t train_samples() const;

  // Over all sources, in their order; the same data elsewhere have the same fingerprint.
  uint64_t fingerprint() const { return fingerprint_; }
  std::vector<SourceSummary> summary() const;
  std::vector<std::string> notices() const;
  SkippedSamples skipped() const { return reader_.skipped(); }

 private:
  struct Opened {
    std::unique_ptr<TokenSource> source;  // none for a weight of 0
    std::string path;
    WindowSplit split;
  };
  class Borrowed;  // a HostBatch of the pool, for one call

  void open_train(const LoaderConfig& config);
  void open_validation(const LoaderConfig& config);
  Sample validation_sample(int64_t index) const;
  const TokenSource& validation_source(int index) const;
  void resize(const Cut& cut, HostBatch& out) const;
  SampleReader::Row row(HostBatch& batch, int64_t index) const;
  Batch upload(Device& device, const Cut& cut, const HostBatch& host) const;

  int64_t sequence_length_;
  SampleReader reader_;
  std::vector<Opened> train_;
  std::vector<Opened> validation_;  // empty when the split is cut from the training sources
  std::optional<TrainingOrder> order_;
  int64_t validation_samples_ = 0;
  uint64_t fingerprint_ = 0;
  mutable std::mutex pool_mutex_;
  mutable std::vector<std::unique_ptr<HostBatch>> pool_;
};

}  // namespace octant
