#include "train/checkpointing.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <limits>

#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/reader.h"
#include "checkpoint/writer.h"
#include "core/math/philox.h"
#include "train/resume_changes.h"

namespace octant {
namespace {

SliceRange range_of_piece(const StatePiece& piece) {
  return {
      .box = {.offset = piece.box_offset, .size = piece.box_size}, .begin = piece.begin, .end = piece.end};
}

std::vector<SaveEntry> save_entries(TrainingEngine& engine) {
  std::vector<SaveEntry> entries;
  for (const StatePiece& piece : engine.state().pieces_to_write(engine.groups().at.pipeline == 0)) {
    const auto add = [&](stored::TensorKind kind, const float* data) {
      if (data != nullptr)
        entries.push_back({.name = piece.name,
                           .kind = kind,
                           .global_shape = piece.global,
                           .range = range_of_piece(piece),
                           .data = data});
    };
    add(stored::WEIGHT, piece.weight);
    add(stored::EXP_AVG, piece.exp_avg);
    add(stored::EXP_AVG_SQ, piece.exp_avg_sq);
  }
  return entries;
}

stored::Manifest header(TrainingEngine& engine, const Progress& progress, uint64_t data_fingerprint) {
  const Job& job = engine.job();
  stored::Manifest manifest;
  manifest.set_step(static_cast<uint64_t>(progress.step));
  manifest.set_tokens(static_cast<uint64_t>(progress.tokens));
  manifest.set_consumed_samples(static_cast<uint64_t>(progress.consumed_samples));
  manifest.set_seed(job.seed);
  manifest.set_data_fingerprint(data_fingerprint);
  manifest.set_model_fingerprint(model_fingerprint(job.model));
  // As written: derived numbers are derived again for whatever layout reads it.
  google::protobuf::TextFormat::PrintToString(job.given, manifest.mutable_job_spec());
  manifest.mutable_optimizer()->set_kind(job.optimizer.kind == OptimizerSettings::Kind::kAdamW ? "adamw"
                                                                                               : "sgd");
  manifest.mutable_optimizer()->set_step_count(static_cast<uint64_t>(engine.optimizer().updates()));
  const LossScale& scale = engine.optimizer().loss_scale();
  if (scale.enabled()) {
    manifest.mutable_loss_scale()->set_scale(static_cast<float>(scale.state().scale));
    manifest.mutable_loss_scale()->set_good_steps(static_cast<uint32_t>(scale.state().clean_steps));
    manifest.mutable_loss_scale()->set_hysteresis_left(static_cast<uint32_t>(scale.state().hysteresis_left));
  }
  return manifest;
}

int retained(const Job& job) {
  const int64_t keep = job.checkpoint.keep;
  return keep == 0 || keep > std::numeric_limits<int>::max() ? std::numeric_limits<int>::max()
                                                             : static_cast<int>(keep);
}

void check_model(const stored::Manifest& manifest, const Job& job, const std::filesystem::path& folder) {
  if (manifest.model_fingerprint() != model_fingerprint(job.model))
    throw DataError(
        fmt::format("{} holds another model than the job describes (its own job spec is printed by `octant "
                    "checkpoint info`); give the "
                    "job the same model block, or another checkpoint",
                    folder.string()));
}

void read_pieces(TrainingEngine& engine, CheckpointReader& reader, bool with_moments) {
  for (const StatePiece& piece : engine.state().pieces_to_load()) {
    const SliceRange range = range_of_piece(piece);
    reader.read(piece.name, stored::WEIGHT, piece.global, range, piece.weight);
    if (!with_moments || piece.exp_avg == nullptr) continue;
    reader.read(piece.name, stored::EXP_AVG, piece.global, range, piece.exp_avg);
    reader.read(piece.name, stored::EXP_AVG_SQ, piece.global, range, piece.exp_avg_sq);
  }
}

}  // namespace

uint64_t model_fingerprint(const ModelConfig& config) {
  std::string text = fmt::format("{}|{}|{}|{}|{}|{:a}|{:a}", name_of(config.family),
                                 config.num_attention_heads, config.num_kv_heads, config.sequence_length,
                                 config.tie_embeddings, config.norm_epsilon, config.rope_base);
  for (const LogicalParameter& parameter : logical_parameters(config))
    text += fmt::format("|{} {}", parameter.name, parameter.shape.str());
  return parameter_key(0, text);
}

void save_checkpoint(TrainingEngine& engine, const Progress& progress, uint64_t data_fingerprint) {
  World& world = engine.world();
  const std::filesystem::path directory = engine.job().checkpoint.dir;
  try {
    world.agree("preparing the checkpoint", [&] {
      if (world.rank() == 0) begin_save(directory, progress.step);
    });
    std::string fragment;
    world.agree("writing the checkpoint", [&] {
      fragment = write_rank_file(directory, progress.step, world.rank(), save_entries(engine));
    });
    const std::vector<std::string> fragments = world.communicator().all_gather(fragment);
    world.agree("completing the checkpoint", [&] {
      if (world.rank() == 0)
        commit_save(directory, combine(header(engine, progress, data_fingerprint), fragments),
                    retained(engine.job()));
    });
  } catch (const Error&) {
    if (world.rank() == 0) abort_save(directory, progress.step);
    throw;
  }
}

namespace {

// Rank 0's part of find_resume_point.
void choose_resume_point(const CheckpointSettings& settings, ResumePoint& point) {
  const NewestCheckpoint newest = newest_checkpoint(settings.dir);
  if (settings.resume == Resume::kNever) {
    if (newest.found)
      throw DataError(
          fmt::format("{} holds checkpoints of an earlier run, the newest of step {}, and checkpoint.resume "
                      "is NEVER; use "
                      "checkpoint.resume AUTO to go on from it, or another output_dir",
                      settings.dir, newest.found->step));
    return;
  }
  if (!settings.resume_from.empty()) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::path(settings.resume_from).parent_path();
    const bool own = std::filesystem::equivalent(parent.empty() ? "." : parent, settings.dir, error);
    if (settings.resume == Resume::kRequired || own || !newest.found) {
      const std::string fault = incompleteness_of(settings.resume_from);
      if (!fault.empty())
        throw DataError(fmt::format("checkpoint.resume_from={} is no complete checkpoint: {}",
                                    settings.resume_from, fault));
      point.folder = settings.resume_from;
      point.weights_only = settings.weights_only;
      return;
    }
    point.notices.push_back(
        fmt::format("checkpoint.resume_from={} began this run; it goes on from its own newest checkpoint",
                    settings.resume_from));
  } else {
    point.weights_only = settings.weights_only;
  }
  for (const FoundCheckpoint& skipped : newest.skipped)
    point.notices.push_back(fmt::format("passing over {}: {}", skipped.folder.string(), skipped.fault));
  if (newest.found) {
    point.folder = newest.found->folder;
  } else if (settings.resume == Resume::kRequired) {
    throw DataError(fmt::format("checkpoint.resume is REQUIRED and {} holds no complete checkpoint{}",
                                settings.dir,
                                newest.skipped.empty() ? "" : ": " + newest.skipped.front().fault));
  }
}

}  // namespace

ResumePoint find_resume_point(World& world, const Job& job) {
  ResumePoint point;
  world.agree("looking for a checkpoint", [&] {
    if (world.rank() == 0) choose_resume_point(job.checkpoint, point);
  });
  const std::vector<std::string> told = world.communicator().all_gather(
      fmt::format("{}{}", point.weights_only ? "w" : "a", point.folder.string()));
  point.weights_only = told.front().front() == 'w';
  point.folder = told.front().substr(1);
  return point;
}

Resumed load_checkpoint(TrainingEngine& engine, const ResumePoint& point, uint64_t data_fingerprint) {
  const std::filesystem::path& folder = point.folder;
  World& world = engine.world();
  const Job& job = engine.job();
  Resumed resumed;
  world.agree("loading the checkpoint", [&] {
    try {
      CheckpointReader reader(folder);
      const stored::Manifest& manifest = reader.manifest();
      check_model(manifest, job, folder);
      const bool weights_only = point.weights_only;
      const std::string kind = job.optimizer.kind == OptimizerSettings::Kind::kAdamW ? "adamw" : "sgd";
      if (!weights_only && manifest.optimizer().kind() != kind)
        throw DataError(
            fmt::format("{} was saved with the optimizer {}, the job has {}; use the same, or "
                        "checkpoint.weights_only: true",
                        folder.string(), manifest.optimizer().kind(), kind));
      read_pieces(engine, reader, !weights_only);
      if (weights_only) return;
      resumed.progress = {.step = static_cast<int64_t>(manifest.step()),
                          .tokens = static_cast<int64_t>(manifest.tokens()),
                          .consumed_samples = static_cast<int64_t>(manifest.consumed_samples())};
      engine.optimizer().set_updates(static_cast<int64_t>(manifest.optimizer().step_count()));
      if (manifest.has_loss_scale())
        engine.optimizer().loss_scale().restore({.scale = static_cast<double>(manifest.loss_scale().scale()),
                                                 .clean_steps = manifest.loss_scale().good_steps(),
                                                 .hysteresis_left = manifest.loss_scale().hysteresis_left()});
      resumed.notices = resume_changes(manifest, job, data_fingerprint);
    } catch (const DataError& error) {
      throw DataError(fmt::format("{} (rank {} on {})", error.what(), world.rank(), world.host()));
    }
  });
  engine.weights_changed();
  return resumed;
}

void load_weights(TrainingEngine& engine, const std::filesystem::path& folder) {
  engine.world().agree("loading the weights", [&] {
    CheckpointReader reader(folder);
    check_model(reader.manifest(), engine.job(), folder);
    read_pieces(engine, reader, /*with_moments=*/false);
  });
  engine.weights_changed();
}

std::filesystem::path resolve_checkpoint(const std::string& path) {
  std::filesystem::path given = path;
  if (!given.has_filename()) given = given.parent_path();  // a trailing slash
  // By its name, or renamed but with a manifest.
  if (step_of_checkpoint_name(given.filename().string()) || std::filesystem::exists(given / kManifestName)) {
    const std::string fault = incompleteness_of(given);
    if (!fault.empty()) throw DataError(fmt::format("{} is no complete checkpoint: {}", path, fault));
    return given;
  }
  for (const std::filesystem::path& folder :
       {std::filesystem::path(path), std::filesystem::path(path) / "checkpoints"}) {
    const NewestCheckpoint newest = newest_checkpoint(folder);
    if (newest.found) return newest.found->folder;
  }
  throw DataError(
      fmt::format("{} is neither a checkpoint (step_00000100) nor a folder that holds a complete one", path));
}

}  // namespace octant
