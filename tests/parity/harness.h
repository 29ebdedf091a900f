// Trains a tiny model on any layout and brings back everything that must not depend on it: losses, gradient
// norms, every weight.
//
//   Outcome one = train(Case{.family = "GPT2"}, Layout{});
//   Outcome many = train(Case{.family = "GPT2"}, Layout{.data = 2, .tensor = 2, .pipeline = 2, .stage = 3});
//   expect_close(one, many, 1e-5);
//
// Hidden 32, T 16, five layers (uneven over 2 and 4 stages), vocabulary 257, a global batch of 16 sequences
// whose masks leave between no and all tokens of a sequence. Ranks are threads unless a test runs under
// mpirun.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/micro_batch.h"
#include "job/job.h"
#include "parallel/world.h"
#include "train/engine.h"

namespace octant::parity {

struct Case {
  std::string family = "GPT2";  // GPT2: tied, learned positions · LLAMA: untied, grouped queries
  std::string optimizer =
      "adamw { learning_rate: 1e-3 beta1: 0.9 beta2: 0.95 epsilon: 1e-5 weight_decay: 0.1 }";
  std::string precision = "compute: F32";
  double clip = 1.0;
  int steps = 5;
  double dropout = 0.0;
  int layers = 5;
  int hidden = 32, heads = 0, kv_heads = 4,
      ffn = 0;  // 0: the family's (GPT2 4 heads, ffn 128; LLAMA 8 heads, ffn 88)
  int64_t global_batch = 16;
  uint64_t seed = 1234;
};

struct Layout {
  int data = 1, tensor = 1, pipeline = 1;
  int stage = 0;
  int accumulation = 1;
  bool sequence_parallel = false;
  bool recompute = false;
  bool overlap = true;
  bool progress_thread = false;
  std::string reduce_every = "AUTO";
  std::string reshard = "AUTO";
  std::string schedule = "ONE_F_ONE_B";
  int64_t reduce_bucket = 0, allgather_bucket = 0;
  int64_t vocab_padding_multiple = 1;
  int ranks() const { return data * tensor * pipeline; }
  std::string str() const;
};

struct Outcome {
  std::vector<double> losses, norms, loss_scales;
  std::map<std::string, std::vector<float>> weights, exp_avg;  // by logical name, global and unpadded
  std::vector<int> peak_live;                                  // by rank
  std::vector<MemoryLedger> memory;                            // by rank, after the last step
  std::vector<TrafficLedger> traffic;                          // by rank, of the steps alone
};

inline constexpr int64_t kSequence = 16;
inline constexpr int64_t kVocabulary = 257;

Job make_job(const Case& model, const Layout& layout);

// The micro-batches of one data rank of the synthetic data of `step`: the same global batch in every layout.
Batch make_batch(Device& device, const Case& model, const Layout& layout, int data_rank, int64_t step);

// Runs one rank of the case and adds what it owns to `outcome` (under a lock). Called on every rank of the
// world.
void train_rank(World& world, const Job& job, const Case& model, const Layout& layout, Outcome& outcome);

Outcome train(const Case& model, const Layout& layout);

// Relative on losses and norms; each weight within `tolerance` of its model's largest.
void expect_close(const Outcome& expected, const Outcome& actual, double tolerance, const std::string& what);
void expect_same_bits(const Outcome& expected, const Outcome& actual, const std::string& what);

}  // namespace octant::parity
