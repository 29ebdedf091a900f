// The validation loss: the mean over every counted token of the split, each sequence once, whatever the
// layout.
#pragma once

#include <optional>

#include "data/batch_loader.h"
#include "train/engine.h"

namespace octant {

struct EvaluationReport {
  std::optional<double> loss;  // none without a counted token
  int64_t sequences = 0;
  int64_t tokens = 0;  // counted
};

// The first `batches` global batches of the split, or all of it for 0. Collective over the world; changes
// nothing that training reads.
EvaluationReport evaluate(TrainingEngine& engine, const BatchLoader& data, int64_t batches);

// `octant eval`: loads the weights of `checkpoint` into the job's layout and evaluates. Collective over the
// world.
EvaluationReport evaluate_checkpoint(World& world, const Job& job, const std::string& checkpoint);

// The job's data, opened as the loader takes it.
LoaderConfig loader_config(const Job& job);

}  // namespace octant
