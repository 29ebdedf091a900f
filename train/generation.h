// Text from a checkpoint, token by token, on one rank, whatever layout wrote it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "job/job.h"
#include "parallel/world.h"

namespace octant {

struct SamplingOptions {
  int64_t max_new_tokens = 200;
  double temperature = 1.0;  // 0 = always the likeliest
  int64_t top_k = 0;         // 0 = all
  double top_p = 1.0;        // nucleus: the smallest set of likeliest tokens whose probability reaches it
  uint64_t seed = 1234;
};

// Throws UserError for options out of range. `emit` receives each new piece of text as it is made; the
// end-of-document token ends the text. A pure function of (weights, prompt, options). The job's parallel
// block is ignored: the model is loaded whole. World of one rank.
void generate(World& world, const Job& job, const std::string& checkpoint, const std::string& prompt,
              const SamplingOptions& options, const std::function<void(const std::string&)>& emit);

}  // namespace octant
