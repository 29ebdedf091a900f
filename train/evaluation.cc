#include "train/evaluation.h"

#include <algorithm>

#include "train/checkpointing.h"

namespace octant {

EvaluationReport evaluate(TrainingEngine& engine, const BatchLoader& data, int64_t batches) {
  const Job& job = engine.job();
  const Cut cut{.data_rank = engine.groups().at.data,
                .data_size = job.parallel.data,
                .micro_batch_size = job.batch.micro,
                .accumulation = job.batch.accumulation};
  const int64_t global = cut.global_batch();
  const int64_t total =
      batches == 0 ? data.validation_samples() : std::min(data.validation_samples(), batches * global);
  EvaluationReport report;
  double loss = 0;
  for (int64_t first = 0; first < total; first += global) {
    const int64_t count = std::min(global, total - first);
    const EvaluationSum sum =
        engine.evaluate(data.load_validation(engine.world().device(), cut, first, count));
    loss += sum.loss;
    report.tokens += sum.tokens;
    report.sequences += count;
  }
  if (report.tokens > 0) report.loss = loss / static_cast<double>(report.tokens);
  return report;
}

EvaluationReport evaluate_checkpoint(World& world, const Job& job, const std::string& checkpoint) {
  std::unique_ptr<BatchLoader> data;
  world.agree("opening the data", [&] {
    data = std::make_unique<BatchLoader>(loader_config(job));
    if (data->validation_samples() == 0)
      throw DataError(
          "there is no validation split: set data.validation_fraction or give data.validation sources");
  });
  TrainingEngine engine(job, world, TrainingEngine::Purpose::kForwardOnly);
  std::string folder;
  world.agree("looking for the checkpoint", [&] { folder = resolve_checkpoint(checkpoint).string(); });
  load_weights(engine, folder);
  return evaluate(engine, *data, job.training.eval_batches);
}

LoaderConfig loader_config(const Job& job) {
  const auto sources = [](const std::vector<DataSource>& given) {
    std::vector<SourceConfig> result;
    for (const DataSource& source : given)
      result.push_back(
          {.kind = source.kind == DataSource::Kind::kText ? SourceKind::kText : SourceKind::kIndexed,
           .path = source.path,
           .mask_prefix = source.mask_prefix,
           .weight = source.weight});
    return result;
  };
  LoaderConfig config;
  config.train = sources(job.data.train);
  config.validation = sources(job.data.validation);
  config.validation_fraction = job.data.validation.empty() ? job.data.validation_fraction : 0.0;
  config.sequence_length = job.model.sequence_length;
  config.vocab_size = job.model.vocab_size;
  config.eod_mask_loss = job.data.eod_mask_loss;
  config.on_error = job.data.on_error == OnDataError::kStop ? BadIds::kStop : BadIds::kSkip;
  config.seed = job.seed;
  return config;
}

}  // namespace octant
