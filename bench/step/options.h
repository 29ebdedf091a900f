// What bench_step is asked to run: its command line, and the job that this describes.
#pragma once

#include <cstdint>
#include <string>

#include "job/job.h"

namespace CLI {
class App;
}

namespace octant::bench {

struct Options {
  std::string family = "gpt2", dtype = "f32";
  int64_t layers = 12, hidden = 768, heads = 12, kv_heads = 0, ffn = 0, vocab = 50257, sequence = 256;
  int64_t vocab_padding = 1, micro = 4, accumulation = 1;
  int data = 1, tensor = 1, pipeline = 1, stage = 0, threads = 1, steps = 3;
  bool sequence_parallel = false, recompute = false, operations = false;
  std::string json;  // where the figures go as JSON too; empty: nowhere

  int ranks() const { return data * tensor * pipeline; }
};

void add_options(CLI::App& app, Options& options);

// Throws UserError where the options contradict each other.
Job make_job(const Options& options);

}  // namespace octant::bench
