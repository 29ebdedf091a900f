#include "train/summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/config.h"
#include "train/placement.h"

namespace octant {

std::string rank_summary(TrainingEngine& engine, int64_t steps) {
  World& world = engine.world();
  const Coordinates at = engine.groups().at;
  const MemoryLedger& ledger = world.device().ledger();
  nlohmann::ordered_json entry;
  entry["rank"] = world.rank();
  entry["host"] = world.host();
  entry["data"] = at.data;
  entry["tensor"] = at.tensor;
  entry["pipeline"] = at.pipeline;
  entry["layers"] = engine.stage().options().layers;
  entry["peak_live_micro_batches"] = engine.peak_live_micro_batches();
  nlohmann::ordered_json memory;
  for (int kind = 0; kind < kMemoryKinds; ++kind) {
    const auto at_kind = static_cast<MemoryKind>(kind);
    memory[std::string(name_of(at_kind))] = ledger.peak(at_kind);
  }
  memory["total"] = ledger.peak_total();
  entry["peak_bytes"] = memory;
  const std::optional<int64_t> resident = peak_resident_bytes();
  entry["peak_resident_bytes"] = resident ? nlohmann::ordered_json(*resident) : nlohmann::ordered_json();
  entry["wait_seconds"] = world.times().waited;
  entry["exposed_communication"] = world.times().exposed();
  entry["hidden_communication"] = world.times().hidden;
  nlohmann::ordered_json traffic = nlohmann::ordered_json::array();
  const double per_step = 1.0 / static_cast<double>(std::max<int64_t>(1, steps));
  for (const auto& [key, row] : world.traffic().rows()) {
    const auto& [group, operation, purpose] = key;
    nlohmann::ordered_json line;
    line["group"] = group;
    line["operation"] = std::string(name_of(operation));
    line["purpose"] = purpose;
    line["calls_per_step"] = static_cast<double>(row.calls) * per_step;
    line["elements_per_step"] = static_cast<double>(row.elements) * per_step;
    line["bytes_per_step"] = static_cast<double>(row.bytes) * per_step;
    traffic.push_back(line);
  }
  entry["traffic"] = traffic;
  return entry.dump();
}

std::string run_summary(TrainingEngine& engine, int64_t steps, double seconds, double matmul_rate) {
  World& world = engine.world();
  const std::vector<std::string> parts = world.communicator().all_gather(rank_summary(engine, steps));
  const Job& job = engine.job();
  nlohmann::ordered_json summary;
  summary["name"] = job.name;
  summary["transport"] = world.transport();
  summary["world_size"] = world.size();
  summary["parameters"] = parameter_count(job.model);
  summary["steps"] = steps;
  summary["seconds"] = seconds;
  summary["threads_per_rank"] = world.device().ops().threads();
  summary["progress_thread"] = world.device().carrier() != nullptr;
  summary["usable_cores"] = usable_cores();
  nlohmann::ordered_json device;
  for (const auto& [name, value] : world.device().ops().description()) device[name] = value;
  summary["instruction_set"] = device["vector code"];
  summary["device"] = device;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  double exposed = 0;
  for (const std::string& part : parts) {
    ranks.push_back(nlohmann::ordered_json::parse(part));
    exposed = std::max(exposed, ranks.back()["exposed_communication"].get<double>());
  }
  summary["largest_exposed_communication"] = exposed;
  summary["matmul_rate"] = matmul_rate;
  summary["ranks"] = ranks;
  return summary.dump(1);
}

}  // namespace octant
