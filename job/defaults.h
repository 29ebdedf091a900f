// The defaults of the job spec: the one place that knows them.
#pragma once

#include <optional>

#include "proto/job.pb.h"

namespace octant {

// The spec with every scalar filled in that has a default, presets expanded (fields given beside one win) and
// the preset's name dropped. What is required stays open where it is missing; so do the batch sizes, which
// the batch arithmetic fills in, and the checkpoint folder, which follows output_dir. parallel.data:
// started_ranks / (tensor × pipeline) where the ranks are known and divide, else 1. ffn_hidden_size: GPT2 4 ×
// hidden; LLAMA 8/3 × hidden, rounded up to a multiple of 64.
spec::Job fill_defaults(const spec::Job& given, std::optional<int> started_ranks);

}  // namespace octant
