// Whole runs of tiny models on thread ranks, in a folder of their own: octant::train() from spec text to the
// files that it leaves.
//
//   Folder folder;                                                         // holds corpus.txt
//   Outcome one = run(folder, "one", {"training.steps=5"});
//   Outcome many = run(folder, "many", {"training.steps=5"}, layout(2, 1, 2, 3));
//   expect_tol32(one, many, "a layout");
//
// GPT2 of five layers (uneven over 2 and 4 stages), hidden 32, T 16, vocabulary 257, tied; a global batch of
// 12 sequences, which 1, 2, 3 and 4 data ranks divide. Every `set` is a --set override of the base spec;
// later ones win.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "job/job.h"
#include "parallel/world.h"
#include "train/trainer.h"

namespace octant::runs {

using Set = std::vector<std::string>;

// A folder that lives as long as the object, with a text of 8,192 bytes (511 windows of 16 tokens) in
// corpus.txt.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

Set layout(int data, int tensor, int pipeline, int zero_stage);
std::string name_of(const Set& set);
inline const Set kLlama = {"model.family=LLAMA", "model.num_attention_heads=8", "model.ffn_hidden_size=88",
                           "model.tie_embeddings=false"};

struct Outcome {
  int exit_code = 0;
  int failed_rank = -1;
  std::string message;  // of the failure
  TrainResult result;
  std::string output;                       // what a person saw
  std::vector<nlohmann::json> steps;        // metrics.jsonl, the lines of steps
  std::vector<nlohmann::json> evaluations;  // and those of evaluations
  nlohmann::json summary;                   // null if there is none
  std::filesystem::path folder;
  std::filesystem::path checkpoint(int64_t step) const;

  std::vector<double> column(const std::string& name) const;  // NaN for null
  std::vector<double> losses() const { return column("loss"); }
  std::vector<double> norms() const { return column("grad_norm"); }
  bool printed(const std::string& part) const { return output.find(part) != std::string::npos; }
};

struct Hooks {
  const std::atomic<int>* stop = nullptr;
  int64_t profile_steps = 0;
  std::function<void(World&, const std::string& text)> on_line =
      nullptr;                                   // on rank 0, for every line that a person sees
  std::function<void(World&)> at_end = nullptr;  // on every rank, when train() has returned
};

// The job of the base spec with the overrides; throws UserError with the errors.
Job job(const Folder& folder, const std::string& name, const Set& set, const Set& more = {});
Outcome run(const Folder& folder, const std::string& name, const Set& set, const Set& more = {},
            const Hooks& hooks = {});
// The same, and a test failure unless it ends with 0.
Outcome good_run(const Folder& folder, const std::string& name, const Set& set, const Set& more = {},
                 const Hooks& hooks = {});

// A pair of sequences, one a document, under `folder`/`name`, its mask pair under `name`_mask where `masks`
// is given.
void write_pair(const Folder& folder, const std::string& name,
                const std::vector<std::vector<int32_t>>& documents,
                const std::vector<std::vector<int32_t>>& masks = {});
// The override that trains on it.
std::string data_of(const Folder& folder, const std::string& name, bool masked);
// `windows` windows of T tokens of which very unequal numbers count: none, three, some, all.
void write_unequal(const Folder& folder, const std::string& name, int windows);

// fp32 across layouts: loss of step 1 within 1e-6 and norm within 1e-5, every later loss within 1e-4
// (relative).
void expect_tol32(const Outcome& expected, const Outcome& actual, const std::string& what);
// Bit for bit: losses, norms, rates, tokens and loss scales of every step.
void expect_same_steps(const Outcome& expected, const Outcome& actual, const std::string& what);
void expect_same_checkpoint(const std::filesystem::path& expected, const std::filesystem::path& actual,
                            const std::string& what);
// Weights within `tolerance` of their tensor's largest, which is taken as 0.05 at least.
void expect_close_weights(const std::filesystem::path& expected, const std::filesystem::path& actual,
                          double tolerance, const std::string& what);
// The step folders and temporary ones that are there, sorted.
std::vector<std::string> folders_in(const std::filesystem::path& directory);

}  // namespace octant::runs
