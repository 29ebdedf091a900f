#include "bench/step/training.h"

#include <chrono>

#include "bench/step/agreed.h"
#include "bench/step/process.h"
#include "core/math/philox.h"
#include "train/engine.h"

namespace octant::bench {
namespace {

using Clock = std::chrono::steady_clock;

Batch make_batch(Device& device, const Job& job, int data_rank, int64_t step) {
  const int64_t micro = job.batch.micro, T = job.model.sequence_length;
  Batch batch;
  for (int64_t m = 0; m < job.batch.accumulation; ++m) {
    std::vector<int32_t> tokens, targets;
    std::vector<int64_t> ids;
    for (int64_t b = 0; b < micro; ++b) {
      ids.push_back((m * job.parallel.data + data_rank) * micro + b);
      const uint64_t key = mix64(static_cast<uint64_t>(step * job.batch.global + ids.back()));
      const auto token = [&](int64_t t) {
        return static_cast<int32_t>(random_u32(key, static_cast<uint64_t>(t)) %
                                    static_cast<uint64_t>(job.model.vocab_size));
      };
      for (int64_t t = 0; t < T; ++t) {
        tokens.push_back(token(t));
        targets.push_back(token(t + 1));
      }
    }
    const std::vector<uint8_t> mask(tokens.size(), 1);
    const auto put = [&](const void* from, const Shape& shape, DType dtype) {
      Tensor tensor = device.allocate(shape, dtype, MemoryKind::kData);
      device.ops().copy_from_host(device.compute(), tensor.data(), from, tensor.bytes());
      return tensor;
    };
    batch.micro_batches.push_back({.tokens = put(tokens.data(), {micro, T}, DType::kI32),
                                   .targets = put(targets.data(), {micro, T}, DType::kI32),
                                   .mask = put(mask.data(), {micro, T}, DType::kU8),
                                   .sample_ids = put(ids.data(), {micro}, DType::kI64),
                                   .step = step});
    batch.counted_tokens += micro * T;
  }
  return batch;
}

}  // namespace

Measurement train(World& world, const Job& job, int steps, const std::function<void()>& ready) {
  auto& clock = dynamic_cast<ProfilingBackend&>(world.device().ops());
  TrainingEngine engine(job, world, TrainingEngine::Purpose::kTrain);
  engine.initialize();
  Measurement result;
  for (int64_t step = 0; step <= steps; ++step) {  // the first one warms up
    const Batch batch = make_batch(world.device(), job, engine.groups().at.data, step);
    world.communicator().barrier().wait();
    if (step == 0) {
      result.first_step_at = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
      result.start_seconds = seconds_since_process_start();
      ready();
    }
    if (step == 1) clock.start(/*most_events=*/0);
    const TransportTimes before = world.times();
    const Clock::time_point begin = Clock::now();
    result.loss = engine.step(batch, step, job.learning_rate.peak).loss.value_or(0);
    const double mine = std::chrono::duration<double>(Clock::now() - begin).count();
    if (step > 0) result.waited += world.times().waited - before.waited;
    if (step > 0) result.moved += world.times().moved - before.moved;
    if (step > 0) result.seconds.push_back(largest(world, mine));
  }
  clock.stop();
  result.times = clock.totals();
  result.mean_waited = summed(world, result.waited) / world.size();
  const MemoryLedger& ledger = world.device().ledger();
  result.peak_bytes = largest(world, static_cast<double>(ledger.peak_total()));
  for (int kind = 0; kind < kMemoryKinds; ++kind)
    result.kind_peaks[static_cast<size_t>(kind)] =
        largest(world, static_cast<double>(ledger.peak(static_cast<MemoryKind>(kind))));
  result.resident_bytes = largest(world, peak_resident_bytes());
  return result;
}

// Model FLOPs of one training step of the whole job.
double step_flops(const Job& job) {
  return model_flops_per_token(job.model) * static_cast<double>(job.batch.global * job.model.sequence_length);
}

}  // namespace octant::bench
