// bench_step [--layers 12 --hidden 768 … --data 2 --tensor 2 --pipeline 2 --stage 2 …]: whole training steps
// on synthetic sequences.
//
// Prints the seconds of a step, tokens/s, model FLOP/s and their share of the rate at which this very machine
// multiplies 1024 x 3072 x 768 in the same run, so that the share says what the rest of a step costs. For
// ranks on one machine.
//
// Model FLOPs of a token: 6 N + 6 L C T. N counts every parameter once, a tied head as well as an untied one,
// but not an untied input table, which is only looked up; 6 L C T is causal attention, half of the full
// square (Narayanan 2021, appendix, with that half).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/step/timed_backend.h"
#include "core/cpu/cpu_backend.h"
#include "core/math/philox.h"
#include "job/load.h"
#include "job/validate.h"
#include "train/engine.h"

namespace octant::bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Options {
  std::string family = "gpt2", dtype = "f32";
  int64_t layers = 12, hidden = 768, heads = 12, kv_heads = 0, ffn = 0, vocab = 50257, sequence = 256;
  int64_t micro = 4, accumulation = 1;
  int data = 1, tensor = 1, pipeline = 1, stage = 0, threads = 1, steps = 3;
  bool sequence_parallel = false, recompute = false, operations = false;
};

Job make_job(const Options& o) {
  const bool gpt2 = o.family == "gpt2";
  const int64_t ffn = o.ffn > 0 ? o.ffn : gpt2 ? 4 * o.hidden : (o.hidden * 8 / 3 + 255) / 256 * 256;
  const std::string text = fmt::format(
      "name: 'bench' output_dir: 'unused'\n"
      "model {{ family: {} num_layers: {} hidden_size: {} num_attention_heads: {} num_kv_heads: {} "
      "ffn_hidden_size: {} vocab_size: {} sequence_length: {} tie_embeddings: {} dropout: 0 }}\n"
      "data {{ train {{ text {{ path: 'unused' tokenizer {{ bytes {{}} }} }} }} }}\n"
      "parallel {{ data: {} tensor: {} pipeline: {} sequence_parallel: {} }}\n"
      "zero_optimization {{ stage: {} }}\n"
      "precision {{ compute: {} }}\n"
      "batch {{ micro_batch_size: {} gradient_accumulation_steps: {} }}\n"
      "optimizer {{ adamw {{ learning_rate: 1e-4 weight_decay: 0.1 }} clip_grad_norm: 1.0 }}\n"
      "activation_checkpointing {{ mode: {} }}\n"
      "training {{ steps: {} }}\n"
      "device {{ threads_per_rank: {} }}\n",
      gpt2 ? "GPT2" : "LLAMA", o.layers, o.hidden, o.heads, o.kv_heads > 0 ? o.kv_heads : o.heads, ffn,
      o.vocab, o.sequence, gpt2, o.data, o.tensor, o.pipeline, o.sequence_parallel, o.stage,
      o.dtype == "bf16" ? "BF16" : "F32", o.micro, o.accumulation, o.recompute ? "FULL" : "NONE", o.steps + 1,
      o.threads);
  const Validation result = validate(parse_spec_text(text, "bench"));
  if (!result.job) throw UserError(format_errors(result.errors));
  return *result.job;
}

Batch make_batch(Device& device, const Job& job, int data_rank, int64_t step) {
  const int64_t micro = job.batch.micro, T = job.model.sequence_length;
  Batch batch;
  for (int64_t m = 0; m < job.batch.accumulation; ++m) {
    std::vector<int32_t> tokens, targets;
    std::vector<int64_t> ids;
    for (int64_t b = 0; b < micro; ++b) {
      ids.push_back((m * job.parallel.data + data_rank) * micro + b);
      const uint64_t key = mix64(static_cast<uint64_t>(step * job.batch.global + ids.back()));
      const auto token = [&](int64_t t) {
        return static_cast<int32_t>(random_u32(key, static_cast<uint64_t>(t)) %
                                    static_cast<uint64_t>(job.model.vocab_size));
      };
      for (int64_t t = 0; t < T; ++t) {
        tokens.push_back(token(t));
        targets.push_back(token(t + 1));
      }
    }
    const std::vector<uint8_t> mask(tokens.size(), 1);
    const auto put = [&](const void* from, const Shape& shape, DType dtype) {
      Tensor tensor = device.allocate(shape, dtype, MemoryKind::kData);
      device.ops().copy_from_host(device.compute(), tensor.data(), from, tensor.bytes());
      return tensor;
    };
    batch.micro_batches.push_back({.tokens = put(tokens.data(), {micro, T}, DType::kI32),
                                   .targets = put(targets.data(), {micro, T}, DType::kI32),
                                   .mask = put(mask.data(), {micro, T}, DType::kU8),
                                   .sample_ids = put(ids.data(), {micro}, DType::kI64),
                                   .step = step});
    batch.counted_tokens += micro * T;
  }
  return batch;
}

double summed(World& world, double value) {
  std::array<double, 1> sum = {value};
  world.communicator().all_reduce(sum, ReduceOp::kSum);
  return sum[0];
}

double largest(World& world, double value) {
  std::array<double, 1> max = {value};
  world.communicator().all_reduce(max, ReduceOp::kMax);
  return max[0];
}

// What the machine reaches in the product of a GPT-2 124M layer, (1024, 768) x (3072, 768)^T, by as many
// ranks at once as it has cores for.
double matmul_rate(World& world, DType dtype) {
  constexpr int64_t M = 1024, N = 3072, K = 768;
  constexpr int kRepeats = 6, kProducts = 8;
  Backend& ops = world.device().ops();
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int active = std::clamp(cores / ops.threads(), 1, world.size());
  // Beside the ledger, whose peak belongs to the training.
  const auto matrix = [&](int64_t rows, int64_t cols) {
    const int64_t bytes = rows * cols * size_of(dtype);
    const auto release = [&ops, bytes](void* data) { ops.free(data, bytes); };
    std::unique_ptr<void, decltype(release)> memory(ops.allocate(bytes), release);
    ops.set_zero({}, memory.get(), bytes);
    return std::pair(Matrix{memory.get(), dtype, rows, cols, cols}, std::move(memory));
  };
  const auto a = matrix(M, K), b = matrix(N, K), c = matrix(M, N);
  double best = 0;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {  // the first one warms up
    world.communicator().barrier().wait();
    const Clock::time_point begin = Clock::now();
    for (int product = 0; world.rank() < active && product < kProducts; ++product)
      ops.matmul({}, {.a = a.first, .b = b.first, .c = c.first, .transpose_b = true});
    const double seconds = largest(world, world.rank() < active ? seconds_since(begin) : 0);
    if (repeat > 0) best = std::max(best, 2.0 * M * N * K * kProducts / seconds);
  }
  return best * active;
}

using Times = std::map<std::string_view, OperationTime>;

void print_operations(const Times& times, double waited, double seconds, int steps) {
  std::vector<std::pair<std::string_view, OperationTime>> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  fmt::print("\n{:<24}{:>10}{:>8}{:>10}{:>12}\n", "a step of rank 0", "seconds", "share", "calls", "GFLOP/s");
  double rest = seconds - waited;
  for (const auto& [operation, time] : sorted) {
    rest -= time.seconds;
    fmt::print("{:<24}{:>10.4f}{:>7.1f}%{:>10.1f}", operation, time.seconds / steps,
               100 * time.seconds / seconds, static_cast<double>(time.calls) / steps);
    if (time.flops > 0) fmt::print("{:>12.1f}", time.flops / time.seconds * 1e-9);
    fmt::print("\n");
  }
  fmt::print("{:<24}{:>10.4f}{:>7.1f}%\n", "waiting for peers", waited / steps, 100 * waited / seconds);
  fmt::print("{:<24}{:>10.4f}{:>7.1f}%\n", "everything else", rest / steps, 100 * rest / seconds);
}

// Model FLOPs of one training step of the whole job.
double step_flops(const Job& job) {
  const ModelConfig& m = job.model;
  const double lookup = m.tie_embeddings ? 0.0 : static_cast<double>(m.vocab_size * m.hidden_size);
  const double token = 6.0 * (static_cast<double>(parameter_count(m)) - lookup) +
                       6.0 * static_cast<double>(m.num_layers * m.hidden_size * m.sequence_length);
  return token * static_cast<double>(job.batch.global * m.sequence_length);
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

struct Measurement {
  std::vector<double> seconds;  // of each step, on the slowest rank
  Times times;                  // of rank 0's operations over these steps
  double waited = 0;            // of rank 0 over these steps
  double mean_waited = 0;       // over ranks
  double peak_bytes = 0;        // largest rank's
  double loss = 0;
};

Measurement train(World& world, const Job& job, int steps) {
  auto& clock = dynamic_cast<TimedBackend&>(world.device().ops());
  TrainingEngine engine(job, world, TrainingEngine::Purpose::kTrain);
  engine.initialize();
  Measurement result;
  for (int64_t step = 0; step <= steps; ++step) {  // the first one warms up
    const Batch batch = make_batch(world.device(), job, engine.groups().at.data, step);
    world.communicator().barrier().wait();
    if (step == 1) clock.clear();
    const double waited = world.waited_seconds();
    const Clock::time_point begin = Clock::now();
    result.loss = engine.step(batch, step, job.learning_rate.peak).loss.value_or(0);
    const double mine = seconds_since(begin);
    if (step > 0) result.waited += world.waited_seconds() - waited;
    if (step > 0) result.seconds.push_back(largest(world, mine));
  }
  result.times = clock.times();
  result.mean_waited = summed(world, result.waited) / world.size();
  result.peak_bytes = largest(world, static_cast<double>(world.device().ledger().peak_total()));
  return result;
}

void measure(World& world, const Job& job, const Options& options) {
  check_world(job, world.size());
  const double load_before = load_average();
  // Other programs come and go: the faster of two measurements is nearer to what the machine can do.
  double rate = matmul_rate(world, job.precision.compute);
  const Measurement run = train(world, job, options.steps);
  rate = std::max(rate, matmul_rate(world, job.precision.compute));
  if (world.rank() != 0) return;

  std::vector<double> seconds = run.seconds;
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  double total = 0;
  for (double each : seconds) total += each;
  const double tokens = static_cast<double>(job.batch.global * job.model.sequence_length);
  const double flops = step_flops(job) / median;
  const ModelConfig& m = job.model;
  fmt::print("model       {} {:.1f} M parameters: {} layers, hidden {}, {} heads, vocabulary {}, T {}, {}\n",
             name_of(m.family), static_cast<double>(parameter_count(m)) * 1e-6, m.num_layers, m.hidden_size,
             m.num_attention_heads, m.vocab_size, m.sequence_length, name_of(job.precision.compute));
  fmt::print("layout      data {} x tensor {} x pipeline {}, ZeRO stage {}, {} x {} threads ({})\n",
             job.parallel.data, job.parallel.tensor, job.parallel.pipeline, job.zero.stage, world.size(),
             world.device().ops().threads(), world.transport());
  fmt::print("batch       {} = micro {} x accumulation {} x data {}; {:.0f} tokens a step\n",
             job.batch.global, job.batch.micro, job.batch.accumulation, job.parallel.data, tokens);
  fmt::print("step        median {:.3f} s, fastest {:.3f} s of {}, last loss {:.4f}\n", median,
             seconds.front(), seconds.size(), run.loss);
  fmt::print("tokens      {:.1f} /s\n", tokens / median);
  fmt::print("model       {:.1f} GFLOP/s = {:.1f}% of the matmul rate {:.1f} GFLOP/s\n", flops * 1e-9,
             100 * flops / rate, rate * 1e-9);
  fmt::print("memory      peak {:.0f} MiB on the largest rank\n", run.peak_bytes / (1 << 20));
  fmt::print("waits       {:.3f} s a step, mean over ranks\n", run.mean_waited / options.steps);
  fmt::print("machine     load average {:.1f} before, {:.1f} after\n", load_before, load_average());
  if (options.operations) print_operations(run.times, run.waited, total, options.steps);
}

int run(int argc, char** argv) {
  Options o;
  CLI::App app("Times whole training steps on synthetic sequences.");
  app.option_defaults()->always_capture_default();
  app.add_option("--family", o.family, "gpt2 or llama")->check(CLI::IsMember({"gpt2", "llama"}));
  app.add_option("--layers", o.layers);
  app.add_option("--hidden", o.hidden);
  app.add_option("--heads", o.heads);
  app.add_option("--kv-heads", o.kv_heads, "0: as many as heads");
  app.add_option("--ffn", o.ffn, "0: 4 hidden for gpt2, 8/3 hidden for llama");
  app.add_option("--vocab", o.vocab);
  app.add_option("--sequence", o.sequence);
  app.add_option("--micro", o.micro, "sequences of one forward pass of one data rank");
  app.add_option("--accumulation", o.accumulation, "micro-batches of a step");
  app.add_option("--data", o.data);
  app.add_option("--tensor", o.tensor);
  app.add_option("--pipeline", o.pipeline);
  app.add_option("--stage", o.stage, "ZeRO stage");
  app.add_option("--dtype", o.dtype, "f32 or bf16")->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--threads", o.threads, "threads of each rank")->check(CLI::PositiveNumber);
  app.add_option("--steps", o.steps, "measured, after one that is not")->check(CLI::PositiveNumber);
  app.add_flag("--sequence-parallel", o.sequence_parallel);
  app.add_flag("--recompute", o.recompute);
  app.add_flag("--operations", o.operations, "also print where rank 0's seconds went");
  CLI11_PARSE(app, argc, argv);

  std::optional<Job> job;
  try {
    job = make_job(o);
  } catch (const UserError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  const auto device = [&o](int) {
    return std::make_unique<Device>(std::make_unique<TimedBackend>(cpu::make_backend({.threads = o.threads})),
                                    0);
  };
  const auto rank = [&](World& world) { measure(world, *job, o); };
  const WorldResult result = mpi::launched() ? mpi::run({}, device, rank)
                                             : threads::run(o.data * o.tensor * o.pipeline, {}, device, rank);
  if (result.exit_code != 0) fmt::print(stderr, "rank {}: {}\n", result.failed_rank, result.message);
  return result.exit_code;
}

}  // namespace
}  // namespace octant::bench

int main(int argc, char** argv) {
  return octant::bench::run(argc, argv);
}
