#include "train/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/math/philox.h"
#include "data/byte_tokenizer.h"
#include "train/checkpointing.h"
#include "train/engine.h"

namespace octant {
namespace {

void check(const SamplingOptions& options) {
  const auto refuse = [](const std::string& text) { throw UserError(text); };
  if (options.max_new_tokens < 0)
    refuse(fmt::format("--max-new-tokens {} is negative; give 0 or more", options.max_new_tokens));
  if (!std::isfinite(options.temperature) || options.temperature < 0)
    refuse(
        fmt::format("--temperature {} must be 0 or more; 0 takes the likeliest token, 1 samples as trained",
                    options.temperature));
  if (options.top_k < 0) refuse(fmt::format("--top-k {} is negative; 0 keeps all tokens", options.top_k));
  if (!(options.top_p > 0 && options.top_p <= 1))
    refuse(fmt::format("--top-p {} must be above 0 and at most 1", options.top_p));
}

// Draws from softmax(logits / temperature) after the top-k and top-p cuts; `uniform` in [0, 1).
int32_t draw(const std::vector<float>& logits, const SamplingOptions& options, double uniform) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  if (options.temperature == 0) return order.front();
  if (options.top_k > 0 && options.top_k < static_cast<int64_t>(order.size()))
    order.resize(static_cast<size_t>(options.top_k));
  std::vector<double> weights(order.size());
  const double largest = static_cast<double>(logits[static_cast<size_t>(order.front())]);
  double total = 0;
  for (size_t i = 0; i < order.size(); ++i)
    total += weights[i] = std::exp((static_cast<double>(logits[static_cast<size_t>(order[i])]) - largest) /
                                   options.temperature);
  double kept = 0;
  size_t count = 0;
  while (count < order.size() && kept < options.top_p * total) kept += weights[count++];
  double left = uniform * kept;
  for (size_t i = 0; i < count; ++i)
    if ((left -= weights[i]) < 0) return order[i];
  return order[count - 1];
}

// The job with the whole model on one rank.
Job whole_model(Job job) {
  job.parallel.data = job.parallel.tensor = job.parallel.pipeline = 1;
  job.parallel.sequence_parallel = false;
  job.parallel.pipeline_layers = {job.model.num_layers};
  job.zero.stage = 0;
  job.batch = {.global = 1, .micro = 1, .accumulation = 1};
  return job;
}

MicroBatch single_sequence(Device& device, const std::vector<int32_t>& tokens) {
  const int64_t count = static_cast<int64_t>(tokens.size());
  const int64_t id = 0;
  MicroBatch micro_batch;
  micro_batch.tokens = device.allocate({1, count}, DType::kI32, MemoryKind::kData);
  micro_batch.sample_ids = device.allocate({1}, DType::kI64, MemoryKind::kData);
  device.ops().copy_from_host(device.compute(), micro_batch.tokens.data(), tokens.data(),
                              micro_batch.tokens.bytes());
  device.ops().copy_from_host(device.compute(), micro_batch.sample_ids.data(), &id, sizeof(id));
  micro_batch.training = false;
  return micro_batch;
}

}  // namespace

void generate(World& world, const Job& job, const std::string& checkpoint, const std::string& prompt,
              const SamplingOptions& options, const std::function<void(const std::string&)>& emit) {
  check(options);
  const Job whole = whole_model(job);
  if (whole.model.vocab_size < ByteTokenizer::kVocabularySize)
    throw UserError(fmt::format("the model's vocabulary of {} is smaller than the byte tokenizer's {}",
                                whole.model.vocab_size, ByteTokenizer::kVocabularySize));
  TrainingEngine engine(whole, world, TrainingEngine::Purpose::kForwardOnly);
  load_weights(engine, resolve_checkpoint(checkpoint));

  std::vector<int32_t> tokens = ByteTokenizer::encode(prompt);
  if (tokens.empty())
    tokens.push_back(ByteTokenizer::kEndOfDocument);  // a text begins after the end of another
  const size_t window = static_cast<size_t>(whole.model.sequence_length);
  for (int64_t i = 0; i < options.max_new_tokens; ++i) {
    if (tokens.size() > window)
      tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(window));
    const std::vector<float> logits = engine.logits(single_sequence(world.device(), tokens));
    const double uniform =
        static_cast<double>(uniform_from_u32(random_u32(mix64(options.seed), static_cast<uint64_t>(i))));
    const int32_t next = draw(logits, options, uniform);
    if (next == ByteTokenizer::kEndOfDocument) break;
    emit(next < ByteTokenizer::kEndOfDocument ? std::string(1, static_cast<char>(next))
                                              : fmt::format("<{}>", next));
    tokens.push_back(next);
  }
}

}  // namespace octant
