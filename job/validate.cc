#include "job/validate.h"

#include <fmt/format.h>

#include "core/error.h"
#include "job/build.h"
#include "job/defaults.h"
#include "job/field_names.h"
#include "job/rules.h"

namespace octant {
namespace {

void check_preset(const spec::Model& given, SpecReport& report) {
  if (!given.has_preset() || find_preset(given.preset())) return;
  const std::vector<std::string> names = preset_names();
  std::string fix;
  if (const auto near = nearest_word(given.preset(), names)) fix = "nearest name: " + *near + "; ";
  fix += "presets: ";
  for (size_t i = 0; i < names.size(); ++i) fix += (i > 0 ? ", " : "") + names[i];
  report.add("model.preset", "unknown preset", fix);
}

}  // namespace

Validation validate(const LoadedSpec& loaded, std::optional<int> started_ranks) {
  Validation result;
  if (!loaded.complete) {
    result.errors = loaded.errors;
    return result;
  }
  spec::Job effective = fill_defaults(loaded.message, started_ranks);
  SpecReport report(loaded, effective);
  check_preset(loaded.message.model(), report);
  check_values(effective, report);
  check_unbuilt(effective, report);
  // Without its preset a model lacks everything: one error says so.
  if (!report.reported("model.preset")) check_model(effective, report);
  check_parallel(effective, report);
  std::optional<BatchPlan> plan;
  check_batch(effective, report, plan);
  check_zero(effective, plan, report);
  check_data(effective, report);
  check_precision(effective, report);
  check_optimizer(effective, report);
  check_schedule(effective, report);
  check_training(effective, report);
  check_checkpoint(effective, report);
  check_device(effective, report);
  result.errors = report.errors();
  if (result.errors.empty())
    result.job = build_job(loaded.message, std::move(effective), *plan, report.notices());
  return result;
}

void check_world(const Job& job, int started_ranks) {
  const ParallelSettings& p = job.parallel;
  if (p.ranks() == started_ranks) return;
  const int others = p.tensor * p.pipeline;
  const std::string fix =
      started_ranks % others == 0
          ? fmt::format("start {} ranks, or set parallel.data={}", p.ranks(), started_ranks / others)
          : fmt::format("start {} ranks; {} is not a multiple of tensor {} × pipeline {}", p.ranks(),
                        started_ranks, p.tensor, p.pipeline);
  throw UserError(fmt::format(
      "the job needs {} ranks (parallel.data={} × tensor={} × pipeline={}), but {} were started; {}",
      p.ranks(), p.data, p.tensor, p.pipeline, started_ranks, fix));
}

}  // namespace octant
