#include "bench/step/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "job/load.h"
#include "job/validate.h"

namespace octant::bench {

void add_options(CLI::App& app, Options& options) {
  app.add_option("--family", options.family, "gpt2 or llama")->check(CLI::IsMember({"gpt2", "llama"}));
  app.add_option("--layers", options.layers);
  app.add_option("--hidden", options.hidden);
  app.add_option("--heads", options.heads);
  app.add_option("--kv-heads", options.kv_heads, "0: as many as heads");
  app.add_option("--ffn", options.ffn, "0: 4 hidden for gpt2, 8/3 hidden for llama");
  app.add_option("--vocab", options.vocab);
  app.add_option("--vocab-padding", options.vocab_padding,
                 "rows of the table are a multiple of this x tensor");
  app.add_option("--sequence", options.sequence);
  app.add_option("--micro", options.micro, "sequences of one forward pass of one data rank");
  app.add_option("--accumulation", options.accumulation, "micro-batches of a step");
  app.add_option("--data", options.data);
  app.add_option("--tensor", options.tensor);
  app.add_option("--pipeline", options.pipeline);
  app.add_option("--stage", options.stage, "ZeRO stage");
  app.add_option("--dtype", options.dtype, "f32 or bf16")->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--threads", options.threads, "threads of each rank")->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "measured, after one that is not")->check(CLI::PositiveNumber);
  app.add_flag("--sequence-parallel", options.sequence_parallel);
  app.add_flag("--recompute", options.recompute);
  app.add_flag("--operations", options.operations, "also print where rank 0's seconds went");
  app.add_option("--json", options.json, "also write the figures to this file");
}

Job make_job(const Options& o) {
  const bool gpt2 = o.family == "gpt2";
  const int64_t ffn = o.ffn > 0 ? o.ffn : gpt2 ? 4 * o.hidden : (o.hidden * 8 / 3 + 255) / 256 * 256;
  const std::string text = fmt::format(
      "name: 'bench' output_dir: 'unused'\n"
      "model {{ family: {} num_layers: {} hidden_size: {} num_attention_heads: {} num_kv_heads: {} "
      "ffn_hidden_size: {} vocab_size: {} sequence_length: {} tie_embeddings: {} dropout: 0 }}\n"
      "data {{ train {{ text {{ path: 'unused' tokenizer {{ bytes {{}} }} }} }} }}\n"
      "parallel {{ data: {} tensor: {} pipeline: {} sequence_parallel: {} "
      "vocab_padding_multiple: {} }}\n"
      "zero_optimization {{ stage: {} }}\n"
      "precision {{ compute: {} }}\n"
      "batch {{ micro_batch_size: {} gradient_accumulation_steps: {} }}\n"
      "optimizer {{ adamw {{ learning_rate: 1e-4 weight_decay: 0.1 }} clip_grad_norm: 1.0 }}\n"
      "activation_checkpointing {{ mode: {} }}\n"
      "training {{ steps: {} }}\n"
      "device {{ threads_per_rank: {} }}\n",
      gpt2 ? "GPT2" : "LLAMA", o.layers, o.hidden, o.heads, o.kv_heads > 0 ? o.kv_heads : o.heads, ffn,
      o.vocab, o.sequence, gpt2, o.data, o.tensor, o.pipeline, o.sequence_parallel, o.vocab_padding, o.stage,
      o.dtype == "bf16" ? "BF16" : "F32", o.micro, o.accumulation, o.recompute ? "FULL" : "NONE", o.steps + 1,
      o.threads);
  const Validation result = validate(parse_spec_text(text, "bench"));
  if (!result.job) throw UserError(format_errors(result.errors));
  return *result.job;
}

}  // namespace octant::bench
