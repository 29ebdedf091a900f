// Fuzzes the reading of job specs, as text, as JSON and as an override: whatever the bytes are, the answer is
// a valid job or errors that say something, and a job's effective text loads again.
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "job/job.h"
#include "job/load.h"
#include "job/validate.h"
#include "tests/fuzz/fuzz.h"

namespace {

constexpr const char* kValid = R"(
name: "fuzz"  output_dir: "runs/fuzz"  seed: 1234
model { family: GPT2 num_layers: 6 hidden_size: 192 num_attention_heads: 6 vocab_size: 257 sequence_length: 128 dropout: 0.1 }
data { train { text { path: "corpus.txt" tokenizer { bytes {} } } weight: 0.7 } train { indexed { prefix: "books" mask_prefix: "m" } weight: 0.3 }
  validation_fraction: 0.01 on_error: SKIP }
parallel { data: 2 tensor: 2 pipeline: 2 sequence_parallel: true schedule: GPIPE pipeline_layers: [4, 2] }
zero_optimization { stage: 3 reduce_bucket_size: 5000 reshard_after_forward: ALWAYS reduce_every: STEP }
precision { compute: F16 loss_scale { initial: 65536 window: 1000 hysteresis: 2 minimum: 1 } }
batch { global_batch_size: 32 micro_batch_size: 4 }
optimizer { adamw { learning_rate: 1e-3 epsilon: 1e-8 } clip_grad_norm: 1.0 }
learning_rate_schedule { warmup_steps: 20 decay: COSINE min_learning_rate: 1e-4 }
training { steps: 200 eval_interval: 50 }  checkpoint { interval: 50 keep: 2 }  device { kind: CPU memory_limit: "2GiB" }
)";

void check(const octant::LoadedSpec& loaded) {
  const octant::Validation result = octant::validate(loaded);
  if (result.job.has_value() == !result.errors.empty()) std::abort();
  if (!result.job) {
    if (octant::format_errors(result.errors).empty()) std::abort();
    return;
  }
  const octant::Validation again =
      octant::validate(octant::parse_spec_text(octant::effective_spec_text(*result.job), "again"));
  if (!again.job) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(octant::parse_spec_text(text, "fuzz.pbtxt"));
  check(octant::parse_spec_json(text, "fuzz.json"));
  octant::LoadedSpec loaded = octant::parse_spec_text(kValid, "valid.pbtxt");
  octant::apply_override(text.substr(0, 200), loaded);
  check(loaded);
  return 0;
}

namespace octant::fuzz {

std::vector<std::vector<uint8_t>> valid_inputs() {
  std::vector<std::vector<uint8_t>> inputs;
  for (const std::string& text :
       {std::string(kValid), std::string(R"({"name": "fuzz", "model": {"preset": "gpt2-124m"}})"),
        std::string("parallel.pipeline_layers=[3,3]"), std::string("optimizer={sgd{learning_rate: 0.5}}")})
    inputs.emplace_back(text.begin(), text.end());
  return inputs;
}

}  // namespace octant::fuzz
