#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "job/rules.h"
#include "pipeline/partition.h"

namespace octant {
namespace {

constexpr int64_t kMostRanks = int64_t{1} << 20;

bool positive(int64_t value, const char* field, SpecReport& report) {
  if (value >= 1) return true;
  report.add(field, "must be at least 1", "use 1");
  return false;
}

std::string divisors(int64_t n) {
  std::vector<int64_t> fits;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    fits.push_back(d);
    if (d != n / d) fits.push_back(n / d);
  }
  std::sort(fits.begin(), fits.end());
  constexpr size_t kShown = 12;
  std::string text;
  for (size_t i = 0; i < std::min(fits.size(), kShown); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(fits[i]);
  return text + (fits.size() > kShown ? ", …" : "");
}

// Everything that the tensor axis cuts must be cut evenly; one error names all that is not, with the sizes
// that fit them all.
void check_tensor(const spec::Job& job, SpecReport& report) {
  const spec::Model& m = job.model();
  const int64_t tensor = job.parallel().tensor();
  struct Cut {
    const char* field;
    int64_t size;
  };
  std::vector<Cut> cuts = {{"model.num_attention_heads", m.num_attention_heads()},
                           {"model.num_kv_heads", m.num_kv_heads()},
                           {"model.ffn_hidden_size", m.ffn_hidden_size()}};
  if (job.parallel().sequence_parallel()) cuts.push_back({"model.sequence_length", m.sequence_length()});
  std::string broken;
  int64_t common = 0;
  for (const Cut& cut : cuts) {
    if (cut.size < 1 || report.reported(cut.field)) continue;
    common = std::gcd(common, cut.size);
    if (cut.size % tensor == 0) continue;
    broken += fmt::format("{}{}={}", broken.empty() ? "" : " and ", cut.field, cut.size);
    if (std::string(cut.field) == "model.sequence_length") broken += " (cut under sequence_parallel)";
  }
  if (!broken.empty())
    report.add("parallel.tensor", "does not divide " + broken,
               "values that work for this model: " + divisors(common));
}

std::string list_text(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t v : values) text += (text.empty() ? "[" : ", ") + std::to_string(v);
  return text + "]";
}

void check_layers(const spec::Job& job, SpecReport& report) {
  const spec::Parallel& p = job.parallel();
  const int64_t layers = job.model().num_layers(), stages = p.pipeline();
  if (layers < 1 || report.reported("model.num_layers")) return;
  if (stages > layers) {
    report.add("parallel.pipeline",
               fmt::format("leaves a pipeline stage without a layer: model.num_layers={}", layers),
               fmt::format("use at most {}", layers));
    return;
  }
  if (p.pipeline_layers_size() == 0) return;
  const char* field = "parallel.pipeline_layers";
  // An even cut as the example: the balanced one needs sizes that may be wrong themselves.
  std::vector<int64_t> even(static_cast<size_t>(stages), layers / stages);
  for (size_t i = 0; i < static_cast<size_t>(layers % stages); ++i) ++even[i];
  const std::string fix = fmt::format("use {} or leave it out", list_text(even));
  if (p.pipeline_layers_size() != stages) {
    report.add(
        field,
        fmt::format("has {} entries, parallel.pipeline={} needs one each", p.pipeline_layers_size(), stages),
        fix);
    return;
  }
  int64_t sum = 0;
  for (const int64_t n : p.pipeline_layers()) {
    if (n < 1) return report.add(field, "has an entry below 1: every pipeline stage needs a layer", fix);
    if (n > layers)
      return report.add(field, fmt::format("has an entry above model.num_layers={}", layers), fix);
    sum += n;
  }
  if (sum != layers)
    report.add(field, fmt::format("sums to {}, not to model.num_layers={}", sum, layers), fix);
}

}  // namespace

void check_parallel(const spec::Job& job, SpecReport& report) {
  const spec::Parallel& p = job.parallel();
  const bool data = positive(p.data(), "parallel.data", report);
  const bool tensor = positive(p.tensor(), "parallel.tensor", report);
  const bool pipeline = positive(p.pipeline(), "parallel.pipeline", report);
  if (p.vocab_padding_multiple() < 1 || p.vocab_padding_multiple() > (1 << 20))
    report.add("parallel.vocab_padding_multiple", "must be from 1 to 1048576", "use 1 or 128");
  if (data && tensor && pipeline) {
    const int64_t model_ranks = int64_t{p.tensor()} * p.pipeline();
    if (model_ranks > kMostRanks || p.data() > kMostRanks / model_ranks)
      report.add("parallel.data",
                 fmt::format("× tensor {} × pipeline {} is more than {} ranks", p.tensor(), p.pipeline(),
                             kMostRanks),
                 "use fewer");
  }
  if (tensor) check_tensor(job, report);
  if (pipeline) check_layers(job, report);
  if (p.sequence_parallel() && p.tensor() == 1)
    report.notice("parallel.sequence_parallel has nothing to do: parallel.tensor is 1");
  if (report.given("parallel.schedule") && p.pipeline() == 1)
    report.notice("parallel.schedule has nothing to do: parallel.pipeline is 1");
}

void check_batch(const spec::Job& job, SpecReport& report, std::optional<BatchPlan>& plan) {
  const spec::Batch& b = job.batch();
  const spec::Parallel& p = job.parallel();
  bool good = p.data() >= 1 && !report.reported("parallel.data");
  BatchRequest request;
  const auto take = [&](bool has, int64_t value, const char* field, std::optional<int64_t>& out) {
    const std::string path = std::string("batch.") + field;
    if (report.reported(path)) good = false;
    if (!has) return;
    if (value < 1) {
      report.add(path, "must be at least 1", "use 1, or leave it out to have it derived");
      good = false;
    }
    out = value;
  };
  take(b.has_global_batch_size(), b.global_batch_size(), "global_batch_size", request.global);
  take(b.has_micro_batch_size(), b.micro_batch_size(), "micro_batch_size", request.micro);
  take(b.has_gradient_accumulation_steps(), b.gradient_accumulation_steps(), "gradient_accumulation_steps",
       request.accumulation);
  if (!good) return;
  const BatchResult result = solve_batch(request, p.data());
  if (result.plan) {
    plan = result.plan;
    for (const std::string& note : result.notes) report.notice(note);
    return;
  }
  const int64_t others = int64_t{p.tensor()} * p.pipeline();
  const std::string grid = fmt::format(" (data={} is ranks {} / (tensor {} × pipeline {}))", p.data(),
                                       others * p.data(), p.tensor(), p.pipeline());
  report.add(request.global ? "batch.global_batch_size" : "batch", result.rule + grid, result.fix);
}

void check_zero(const spec::Job& job, const std::optional<BatchPlan>& plan, SpecReport& report) {
  const spec::ZeroOptimization& z = job.zero_optimization();
  if (z.stage() < 0 || z.stage() > 3) report.add("zero_optimization.stage", "must be 0, 1, 2 or 3", "use 1");
  const auto bucket = [&](const char* field, int64_t size) {
    const std::string path = std::string("zero_optimization.") + field;
    if (size < 0) report.add(path, "must be at least 0", "use 5000000, or 0 for whole units of about 25 MiB");
    if (size > 0 && job.parallel().data() == 1)
      report.notice(path + " has nothing to do: parallel.data is 1");
  };
  bucket("reduce_bucket_size", z.reduce_bucket_size());
  bucket("allgather_bucket_size", z.allgather_bucket_size());
  const bool alone = job.parallel().data() == 1;
  if (alone && z.stage() > 0)
    report.notice(fmt::format("zero_optimization.stage={} shards nothing: parallel.data is 1", z.stage()));
  if (alone && z.overlap_comm() && report.given("zero_optimization.overlap_comm"))
    report.notice("zero_optimization.overlap_comm has nothing to do: parallel.data is 1");
  if (!alone && z.stage() == 0 && z.allgather_bucket_size() > 0)
    report.notice("zero_optimization.allgather_bucket_size has nothing to do: stage 0 gathers nothing");
  if (z.stage() < 3 && z.reshard_after_forward() != spec::Reshard::AUTO)
    report.notice("zero_optimization.reshard_after_forward has nothing to do: it belongs to stage 3");
  if (plan && plan->accumulation == 1 && z.reduce_every() != spec::ReduceEvery::AUTO)
    report.notice("zero_optimization.reduce_every has nothing to do: gradient_accumulation_steps is 1");
}

}  // namespace octant
