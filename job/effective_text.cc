#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include "job/job.h"

namespace octant {

std::string effective_spec_text(const Job& job) {
  const ParallelSettings& p = job.parallel;
  std::string layers;
  for (const int64_t n : p.pipeline_layers) layers += (layers.empty() ? "" : ", ") + std::to_string(n);
  std::string text;
  text += fmt::format("# ranks: {} = data {} × tensor {} × pipeline {}\n", p.ranks(), p.data, p.tensor,
                      p.pipeline);
  text += fmt::format("# parameters: {}\n", parameter_count(job.model));
  text += fmt::format("# layers of each pipeline stage: {}\n", layers);
  text += fmt::format("# batch: global {} = micro {} × accumulation {} × data {}\n", job.batch.global,
                      job.batch.micro, job.batch.accumulation, p.data);
  text += fmt::format("# gradients are reduced every {}\n",
                      job.zero.reduce_every == ReduceEvery::kStep ? "step" : "micro-batch");
  text += fmt::format("# checkpoints: {}\n", job.checkpoint.dir);
  std::string spec;
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  printer.SetUseUtf8StringEscaping(true);
  printer.PrintToString(job.effective, &spec);
  return text + spec;
}

}  // namespace octant
