#include "train/start_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace octant {

std::vector<std::pair<std::string, std::string>> start_table(TrainingEngine& engine, const BatchLoader& data,
                                                             const MachineRate& machine,
                                                             const RankPlacement& placement,
                                                             const std::string& start) {
  const Job& job = engine.job();
  World& world = engine.world();
  const ModelConfig& model = job.model;
  std::vector<std::pair<std::string, std::string>> rows;
  const auto add = [&](const std::string& name, const std::string& value) { rows.emplace_back(name, value); };
  add("model", fmt::format("{}: {} layers, hidden {}, {} heads ({} kv), ffn {}, vocabulary {}, sequence {}, "
                           "{} head, {:.3f} M parameters",
                           name_of(model.family), model.num_layers, model.hidden_size,
                           model.num_attention_heads, model.num_kv_heads, model.ffn_hidden_size,
                           model.vocab_size, model.sequence_length, model.tie_embeddings ? "tied" : "untied",
                           static_cast<double>(parameter_count(model)) / 1e6));
  add("ranks",
      fmt::format("{} = data {} × tensor {} × pipeline {} on {}, host {}", world.size(), job.parallel.data,
                  job.parallel.tensor, job.parallel.pipeline, world.transport(), world.host()));
  if (job.parallel.pipeline > 1)
    add("pipeline", fmt::format("{}, layers {}", name_of(job.parallel.schedule),
                                fmt::join(job.parallel.pipeline_layers, " + ")));
  if (job.parallel.tensor > 1)
    add("tensor",
        job.parallel.sequence_parallel ? "with sequence parallelism" : "without sequence parallelism");
  add("zero", fmt::format("stage {}, reduce every {}, overlap {}", job.zero.stage,
                          job.zero.reduce_every == ReduceEvery::kStep ? "step" : "micro-batch",
                          job.zero.overlap_comm ? "on" : "off"));
  add("batch", fmt::format("{} = micro {} × accumulation {} × data {}", job.batch.global, job.batch.micro,
                           job.batch.accumulation, job.parallel.data));
  add("precision", fmt::format("compute {}, gradients {}{}", name_of(job.precision.compute),
                               name_of(job.precision.gradients),
                               job.precision.loss_scale.enabled ? ", dynamic loss scale" : ""));
  add("activations", job.activation_checkpointing ? "recomputed (FULL)" : "kept");
  add("device", fmt::format("{}, {}", world.device().ops().name(), placement.threads_text()));
  for (const auto& [name, value] : world.device().ops().description()) add("  " + name, value);
  add("machine", fmt::format("{:.0f} GFLOP/s {} in matrix products of 1024 × 3072 × 768, all ranks together",
                             machine.total * 1e-9, name_of(job.precision.compute)));
  if (world.size() > 1) {
    add("transfers", world.transfers());
    add("overlap", placement.overlap_text());
  }
  for (const SourceSummary& source : data.summary())
    add("data",
        fmt::format("{}: weight {:.4f}, {} tokens, {} training and {} validation sequences", source.path,
                    source.weight, source.tokens, source.train_samples, source.validation_samples));
  add("memory", fmt::format("{:.1f} MiB on rank 0 before the first step",
                            static_cast<double>(world.device().ledger().current_total()) / 1048576.0));
  add("output", job.output_dir);
  add("start", start);
  return rows;
}

}  // namespace octant
