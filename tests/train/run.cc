#include "tests/train/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "checkpoint/folder.h"
#include "checkpoint/inspect.h"
#include "core/math/philox.h"
#include "data/indexed_writer.h"
#include "job/load.h"
#include "job/validate.h"
#include "train/setup.h"

namespace octant::runs {
namespace {

constexpr const char* kBase = R"(
name: "whole" seed: 42
model { family: GPT2 num_layers: 5 hidden_size: 32 num_attention_heads: 4 num_kv_heads: 4 ffn_hidden_size: 64
        vocab_size: 257 sequence_length: 16 tie_embeddings: true }
parallel { data: 1 tensor: 1 pipeline: 1 }
batch { global_batch_size: 12 }
optimizer { adamw { learning_rate: 2e-3 beta1: 0.9 beta2: 0.95 epsilon: 1e-6 weight_decay: 0.1 }
            clip_grad_norm: 1.0 }
learning_rate_schedule { decay: CONSTANT }
training { steps: 3 }
checkpoint { interval: 0 keep: 0 }
device { threads_per_rank: 1 }
debug { collective_timeout_seconds: 120 }
)";

// Calls a hook for each line that passes.
class LineBuffer : public std::stringbuf {
 public:
  explicit LineBuffer(std::function<void(const std::string&)> hook) : hook_(std::move(hook)) {}
  int sync() override {
    const std::string all = str();
    for (size_t end; (end = all.find('\n', seen_)) != std::string::npos; seen_ = end + 1)
      if (hook_) hook_(all.substr(seen_, end - seen_));
    return 0;
  }

 private:
  std::function<void(const std::string&)> hook_;
  size_t seen_ = 0;
};

}  // namespace

Folder::Folder() {
  // In memory where the system offers that: checkpoints sync every file.
  std::filesystem::path base = "/dev/shm";
  if (::access(base.c_str(), W_OK) != 0) base = std::filesystem::temp_directory_path();
  std::string name = (base / "octant_train_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
  std::string text;
  for (uint32_t word = 0; text.size() < 8192; ++word) {
    const uint32_t length = 1 + random_u32(7, word) % 6;
    for (uint32_t i = 0; i < length; ++i)
      text += static_cast<char>('a' + (random_u32(8, word) >> (4 * i)) % 11);
    text += word % 12 == 11 ? ".\n" : " ";
  }
  text.resize(8192);
  std::ofstream(path_ / "corpus.txt", std::ios::binary) << text;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Set layout(int data, int tensor, int pipeline, int zero_stage) {
  return {fmt::format("parallel.data={}", data), fmt::format("parallel.tensor={}", tensor),
          fmt::format("parallel.pipeline={}", pipeline),
          fmt::format("zero_optimization.stage={}", zero_stage)};
}

std::string name_of(const Set& set) {
  return fmt::format("{}", fmt::join(set, " "));
}

std::filesystem::path Outcome::checkpoint(int64_t step) const {
  return folder / "checkpoints" / checkpoint_name(step);
}

std::vector<double> Outcome::column(const std::string& name) const {
  std::vector<double> values;
  for (const nlohmann::json& step : steps)
    values.push_back(step.at(name).is_null() ? NAN : step.at(name).get<double>());
  return values;
}

Job job(const Folder& folder, const std::string& name, const Set& set, const Set& more) {
  LoadedSpec loaded = parse_spec_text(kBase, "base.pbtxt");
  apply_override(fmt::format("output_dir={}", (folder / name).string()), loaded);
  apply_override(fmt::format("data={{train{{text{{path:'{}' tokenizer{{bytes{{}}}}}}}}}}",
                             (folder / "corpus.txt").string()),
                 loaded);
  for (const Set* part : {&set, &more})
    for (const std::string& assignment : *part) apply_override(assignment, loaded);
  const Validation result = validate(loaded);
  if (!result.job) throw UserError(format_errors(result.errors));
  return *result.job;
}

Outcome run(const Folder& folder, const std::string& name, const Set& set, const Set& more,
            const Hooks& hooks) {
  const Job settings = job(folder, name, set, more);
  Outcome outcome;
  outcome.folder = settings.output_dir;
  std::mutex mutex;
  const WorldResult ended = threads::run(
      settings.parallel.ranks(), world_options(settings),
      device_factory(settings, placement_of(settings, settings.parallel.ranks(), false),
                     hooks.profile_steps > 0),
      [&](World& world) {
        LineBuffer buffer([&](const std::string& line) {
          if (hooks.on_line) hooks.on_line(world, line);
        });
        std::ostream out(&buffer);
        const auto keep = [&] {
          if (world.rank() == 0) outcome.output = buffer.str();
        };
        try {
          const TrainResult result =
              train(world, settings, {.out = &out, .stop = hooks.stop, .profile_steps = hooks.profile_steps});
          if (world.rank() == 0) outcome.result = result;
        } catch (...) {
          keep();
          throw;
        }
        keep();
        const std::lock_guard lock(mutex);
        if (hooks.at_end) hooks.at_end(world);
      });
  outcome.exit_code = ended.exit_code;
  outcome.failed_rank = ended.failed_rank;
  outcome.message = ended.message;
  std::ifstream metrics(outcome.folder / "metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    nlohmann::json entry = nlohmann::json::parse(line);
    (entry.contains("eval_loss") ? outcome.evaluations : outcome.steps).push_back(std::move(entry));
  }
  std::ifstream summary(outcome.folder / "summary.json");
  if (summary) outcome.summary = nlohmann::json::parse(summary);
  return outcome;
}

Outcome good_run(const Folder& folder, const std::string& name, const Set& set, const Set& more,
                 const Hooks& hooks) {
  Outcome result = run(folder, name, set, more, hooks);
  EXPECT_EQ(result.exit_code, 0) << name << " " << name_of(set) << " " << name_of(more) << ": "
                                 << result.message;
  return result;
}

void write_pair(const Folder& folder, const std::string& name,
                const std::vector<std::vector<int32_t>>& documents,
                const std::vector<std::vector<int32_t>>& masks) {
  const auto write = [&](const std::string& prefix, TokenType type,
                         const std::vector<std::vector<int32_t>>& of) {
    IndexedWriter writer((folder / prefix).string(), type);
    for (const std::vector<int32_t>& document : of) {
      writer.add_sequence(document);
      writer.end_document();
    }
    writer.commit();
  };
  write(name, TokenType::kI32, documents);
  if (!masks.empty()) write(name + "_mask", TokenType::kU8, masks);
}

std::string data_of(const Folder& folder, const std::string& name, bool masked) {
  const std::string prefix = (folder / name).string();
  return fmt::format("data={{train{{indexed{{prefix:'{}'{}}}}}}}", prefix,
                     masked ? fmt::format(" mask_prefix:'{}_mask'", prefix) : "");
}

void write_unequal(const Folder& folder, const std::string& name, int windows) {
  constexpr int kT = 16;
  std::vector<std::vector<int32_t>> documents(1), masks(1);
  masks[0].push_back(
      0);  // a mask speaks of the token as target: window w masks the tokens w·T + 1 to w·T + T
  int32_t token = 5;
  for (int window = 0; window < windows; ++window) {
    const uint32_t random = random_u32(31, static_cast<uint64_t>(window));
    const uint32_t kind = static_cast<uint32_t>(window) % 4;
    const uint32_t keep = kind == 0 ? 0 : kind == 1 ? 3 : kind == 2 ? 1 + random % kT : kT;
    for (uint32_t t = 0; t < kT; ++t) {
      documents[0].push_back(token);
      masks[0].push_back(t < keep ? 1 : 0);
      token = (token * 7 + 3 + static_cast<int32_t>(random_u32(33, documents[0].size()) % 2)) % 257;
    }
  }
  documents[0].push_back(token);
  write_pair(folder, name, documents, masks);
}

void expect_tol32(const Outcome& expected, const Outcome& actual, const std::string& what) {
  const std::vector<double> losses = expected.losses(), other = actual.losses();
  ASSERT_FALSE(losses.empty()) << what;
  ASSERT_EQ(losses.size(), other.size()) << what;
  EXPECT_NEAR(other[0], losses[0], 1e-6 * losses[0]) << what << ", loss of step 1";
  EXPECT_NEAR(actual.norms()[0], expected.norms()[0], 1e-5 * expected.norms()[0])
      << what << ", norm of step 1";
  for (size_t step = 1; step < losses.size(); ++step)
    EXPECT_NEAR(other[step], losses[step], 1e-4 * losses[step]) << what << ", loss of step " << step + 1;
}

void expect_same_steps(const Outcome& expected, const Outcome& actual, const std::string& what) {
  ASSERT_EQ(expected.steps.size(), actual.steps.size()) << what;
  for (size_t step = 0; step < expected.steps.size(); ++step)
    for (const char* name :
         {"step", "loss", "grad_norm", "learning_rate", "tokens", "total_tokens", "loss_scale", "skipped"})
      EXPECT_EQ(expected.steps[step].value(name, nlohmann::json()),
                actual.steps[step].value(name, nlohmann::json()))
          << what << ", " << name << " of step " << step + 1;
}

void expect_same_checkpoint(const std::filesystem::path& expected, const std::filesystem::path& actual,
                            const std::string& what) {
  const DiffReport diff = diff_checkpoints(expected, actual);
  EXPECT_FALSE(diff.tensors.empty()) << what;
  EXPECT_TRUE(diff.same()) << what << ":\n" << diff.text();
}

void expect_close_weights(const std::filesystem::path& expected, const std::filesystem::path& actual,
                          double tolerance, const std::string& what) {
  const DiffReport diff = diff_checkpoints(expected, actual, {.weights_only = true});
  EXPECT_FALSE(diff.tensors.empty()) << what;
  for (const TensorDiff& tensor : diff.tensors) {
    EXPECT_TRUE(tensor.state == DiffState::kEqual || tensor.state == DiffState::kDifferent)
        << what << ", " << tensor.name;
    // The bias of the keys has no gradient but round-off (softmax does not see it), and stays near 0: what
    // counts there is that it does.
    EXPECT_LE(tensor.max_absolute, tolerance * std::max(tensor.largest, 0.05)) << what << ", " << tensor.name;
  }
}

std::vector<std::string> folders_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace octant::runs
