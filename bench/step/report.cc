#include "bench/step/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"

namespace octant::bench {
namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double tokens_of(const Job& job) {
  return static_cast<double>(job.batch.global * job.model.sequence_length);
}

void print_operations(const Measurement& run, double seconds, int steps) {
  using Operation = ProfilingBackend::Operation;
  struct Line {
    Operation operation;
    ProfilingBackend::Total total;
  };
  std::vector<Line> lines;
  double rest = seconds - run.waited - run.moved;
  for (size_t i = 0; i < run.times.size(); ++i) {
    if (run.times[i].calls == 0) continue;
    const auto operation = static_cast<Operation>(i);
    lines.push_back({operation, run.times[i]});
    // The transport's sums and copies are within what it moved.
    if (operation != Operation::kReduce && operation != Operation::kCopy) rest -= run.times[i].seconds;
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.total.seconds > b.total.seconds; });
  fmt::print("\n{:<24}{:>10}{:>8}{:>10}{:>12}{:>12}\n", "a step of rank 0", "seconds", "share", "calls",
             "GFLOP/s", "GB/s");
  for (const auto& [operation, total] : lines) {
    fmt::print("{:<24}{:>10.4f}{:>7.1f}%{:>10.1f}", ProfilingBackend::name(operation), total.seconds / steps,
               100 * total.seconds / seconds, static_cast<double>(total.calls) / steps);
    if (total.cost.flops > 0)
      fmt::print("{:>12.1f}", total.cost.flops / total.seconds * 1e-9);
    else
      fmt::print("{:>12}{:>12.1f}", "", total.cost.bytes / total.seconds * 1e-9);
    fmt::print("\n");
  }
  const auto other = [&](const char* what, double of) {
    fmt::print("{:<24}{:>10.4f}{:>7.1f}%\n", what, of / steps, 100 * of / seconds);
  };
  other("waiting for peers", run.waited);
  other("moving peers' bytes", run.moved);
  other("everything else", rest);
}

}  // namespace

void print_report(World& world, const Job& job, const Options& options, const Machine& machine,
                  const Measurement& run) {
  const double median = median_of(run.seconds), tokens = tokens_of(job);
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
             *std::min_element(run.seconds.begin(), run.seconds.end()), run.seconds.size(), run.loss);
  fmt::print("tokens      {:.1f} /s\n", tokens / median);
  fmt::print("model       {:.1f} GFLOP/s = {:.1f}% of the matmul rate {:.1f} GFLOP/s\n", flops * 1e-9,
             100 * flops / machine.matmul_rate, machine.matmul_rate * 1e-9);
  fmt::print("memory      peak {:.0f} MiB on the largest rank; {:.0f} MiB resident in the largest process\n",
             run.peak_bytes / (1 << 20), run.resident_bytes / (1 << 20));
  fmt::print("start       {:.2f} s from the start of the process to the first step\n", run.start_seconds);
  fmt::print("waits       {:.3f} s a step, mean over ranks\n", run.mean_waited / options.steps);
  fmt::print("machine     load average {:.1f} before, {:.1f} after\n", machine.load_before,
             machine.load_after);
  double total = 0;
  for (double each : run.seconds) total += each;
  if (options.operations) print_operations(run, total, options.steps);
}

void write_report(World& world, const Job& job, const Options& options, const Machine& machine,
                  const Measurement& run) {
  const double median = median_of(run.seconds), tokens = tokens_of(job);
  const double flops = step_flops(job);
  const ModelConfig& m = job.model;
  nlohmann::ordered_json report;
  report["model"] = {{"family", name_of(m.family)},   {"layers", m.num_layers},
                     {"hidden", m.hidden_size},       {"vocabulary", m.vocab_size},
                     {"sequence", m.sequence_length}, {"parameters", parameter_count(m)},
                     {"dtype", options.dtype}};
  report["layout"] = {{"data", job.parallel.data},
                      {"tensor", job.parallel.tensor},
                      {"pipeline", job.parallel.pipeline},
                      {"stage", job.zero.stage},
                      {"ranks", world.size()},
                      {"threads", world.device().ops().threads()},
                      {"transport", world.transport()}};
  report["batch"] = {{"micro", job.batch.micro}, {"accumulation", job.batch.accumulation}};
  nlohmann::ordered_json device;
  for (const auto& [name, value] : world.device().ops().description()) device[name] = value;
  report["device"] = device;
  report["step_seconds"] = run.seconds;
  report["median_seconds"] = median;
  report["tokens_per_step"] = tokens;
  report["tokens_per_second"] = tokens / median;
  report["flops_per_step"] = flops;
  report["flops_per_second"] = flops / median;
  report["matmul_rate"] = machine.matmul_rate;
  report["share"] = flops / median / machine.matmul_rate;
  report["loss"] = run.loss;
  report["wait_seconds_per_step"] = run.mean_waited / options.steps;
  report["ledger_peak_bytes"] = run.peak_bytes;
  nlohmann::ordered_json kinds;
  for (int kind = 0; kind < kMemoryKinds; ++kind)
    kinds[std::string(name_of(static_cast<MemoryKind>(kind)))] = run.kind_peaks[static_cast<size_t>(kind)];
  report["ledger_peaks"] = kinds;
  report["resident_bytes"] = run.resident_bytes;
  report["ranks_per_process"] = world.transport() == "threads" ? world.size() : 1;
  report["start_seconds"] = run.start_seconds;
  report["first_step_at"] = run.first_step_at;
  report["load_average"] = {machine.load_before, machine.load_after};
  std::ofstream file(options.json);
  file << report.dump(1) << "\n";
  if (!file.flush())
    throw UserError(
        fmt::format("cannot write the figures to {}: name a file in a folder that exists", options.json));
}

}  // namespace octant::bench
