// How BatchLoader fills the rows of a batch and moves them to a device.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "data/batch_loader.h"

namespace octant {

namespace {

void check(const Cut& cut) {
  if (cut.data_size < 1 || cut.data_rank < 0 || cut.data_rank >= cut.data_size || cut.micro_batch_size < 1 ||
      cut.accumulation < 1)
    throw BugError(fmt::format("a batch is cut for data rank {} of {}, micro-batch {}, accumulation {}",
                               cut.data_rank, cut.data_size, cut.micro_batch_size, cut.accumulation));
}

// Where row `index` of this data rank lies in the global batch.
int64_t offset_of(const Cut& cut, int64_t index) {
  const int64_t micro_batch = index / cut.micro_batch_size;
  return (micro_batch * cut.data_size + cut.data_rank) * cut.micro_batch_size + index % cut.micro_batch_size;
}

template <typename T>
Tensor to_device(Device& device, const Shape& shape, DType dtype, const std::vector<T>& values) {
  Tensor tensor = device.allocate(shape, dtype, MemoryKind::kData);
  device.ops().copy_from_host(device.compute(), tensor.data(), values.data(), tensor.bytes());
  return tensor;
}

}  // namespace

// Host memory that is handed from call to call, so that a step in its steady state allocates none.
class BatchLoader::Borrowed {
 public:
  explicit Borrowed(const BatchLoader& loader) : loader_(loader) {
    const std::lock_guard lock(loader_.pool_mutex_);
    if (loader_.pool_.empty()) {
      batch_ = std::make_unique<HostBatch>();
    } else {
      batch_ = std::move(loader_.pool_.back());
      loader_.pool_.pop_back();
    }
  }
  ~Borrowed() {
    const std::lock_guard lock(loader_.pool_mutex_);
    loader_.pool_.push_back(std::move(batch_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  HostBatch& operator*() { return *batch_; }

 private:
  const BatchLoader& loader_;
  std::unique_ptr<HostBatch> batch_;
};

void BatchLoader::resize(const Cut& cut, HostBatch& out) const {
  check(cut);
  const auto rows = static_cast<size_t>(cut.micro_batch_size * cut.accumulation);
  const size_t elements = rows * static_cast<size_t>(sequence_length_);
  out.tokens.resize(elements);
  out.targets.resize(elements);
  out.mask.resize(elements);
  out.sample_ids.resize(rows);
  out.counted_tokens = 0;
}

SampleReader::Row BatchLoader::row(HostBatch& batch, int64_t index) const {
  const auto length = static_cast<size_t>(sequence_length_);
  const size_t begin = static_cast<size_t>(index) * length;
  return {std::span(batch.tokens).subspan(begin, length), std::span(batch.targets).subspan(begin, length),
          std::span(batch.mask).subspan(begin, length)};
}

void BatchLoader::assemble(const Cut& cut, int64_t consumed_samples, HostBatch& out) const {
  resize(cut, out);
  out.samples.resize(static_cast<size_t>(cut.global_batch()));
  order_->samples(consumed_samples, out.samples);
  for (size_t i = 0; i < out.sample_ids.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const int64_t offset = offset_of(cut, index);
    const Sample& sample = out.samples[static_cast<size_t>(offset)];
    out.sample_ids[i] = offset;
    out.counted_tokens += reader_.read(*train_[static_cast<size_t>(sample.source)].source, sample.window,
                                       row(out, index), out.window);
  }
}

void BatchLoader::assemble_validation(const Cut& cut, int64_t first_sample, int64_t count,
                                      HostBatch& out) const {
  resize(cut, out);
  if (first_sample < 0 || count < 0 || count > cut.global_batch())
    throw BugError(fmt::format("{} validation samples from {} are asked of a global batch of {}", count,
                               first_sample, cut.global_batch()));
  const int64_t end = std::min(first_sample + count, validation_samples_);
  for (size_t i = 0; i < out.sample_ids.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const int64_t offset = offset_of(cut, index);
    out.sample_ids[i] = offset;
    if (first_sample + offset >= end) {
      SampleReader::fill(row(out, index));
      continue;
    }
    const Sample sample = validation_sample(first_sample + offset);
    out.counted_tokens +=
        reader_.read(validation_source(sample.source), sample.window, row(out, index), out.window);
  }
}

Batch BatchLoader::upload(Device& device, const Cut& cut, const HostBatch& host) const {
  const int64_t rows = cut.micro_batch_size * cut.accumulation;
  const Tensor tokens = to_device(device, {rows, sequence_length_}, DType::kI32, host.tokens);
  const Tensor targets = to_device(device, {rows, sequence_length_}, DType::kI32, host.targets);
  const Tensor mask = to_device(device, {rows, sequence_length_}, DType::kU8, host.mask);
  const Tensor sample_ids = to_device(device, {rows}, DType::kI64, host.sample_ids);
  device.ops().synchronize(device.compute());  // the host memory goes back to the pool

  Batch batch;
  batch.micro_batches.reserve(static_cast<size_t>(cut.accumulation));
  for (int64_t m = 0; m < cut.accumulation; ++m) {
    const int64_t begin = m * cut.micro_batch_size;
    MicroBatch part;
    part.tokens = tokens.narrow(begin, cut.micro_batch_size);
    part.targets = targets.narrow(begin, cut.micro_batch_size);
    part.mask = mask.narrow(begin, cut.micro_batch_size);
    part.sample_ids = sample_ids.narrow(begin, cut.micro_batch_size);
    batch.micro_batches.push_back(std::move(part));
  }
  batch.counted_tokens = host.counted_tokens;
  return batch;
}

Batch BatchLoader::load(Device& device, const Cut& cut, int64_t consumed_samples, int64_t step) const {
  Borrowed host(*this);
  assemble(cut, consumed_samples, *host);
  Batch batch = upload(device, cut, *host);
  for (MicroBatch& micro_batch : batch.micro_batches) micro_batch.step = step;
  return batch;
}

Batch BatchLoader::load_validation(Device& device, const Cut& cut, int64_t first_sample,
                                   int64_t count) const {
  Borrowed host(*this);
  assemble_validation(cut, first_sample, count, *host);
  Batch batch = upload(device, cut, *host);
  for (MicroBatch& micro_batch : batch.micro_batches) micro_batch.training = false;
  return batch;
}

}  // namespace octant
