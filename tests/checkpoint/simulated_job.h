// Writes and reads one small model's state as the ranks of any layout would, without any ranks: every rank's
// pieces are computed here.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/reader.h"
#include "checkpoint/writer.h"

namespace octant {

struct SimulatedTensor {
  std::string name;
  Shape shape;
  int tensor_dim = -1;  // the dim that the tensor axis cuts; −1 = replicated
};

// Odd sizes, a dim smaller than some axes, a scalar; cut along either dim, and one not at all.
inline const std::vector<SimulatedTensor>& simulated_model() {
  static const std::vector<SimulatedTensor> tensors = {
      {"wte.weight", {257, 12}, 0}, {"h.0.mlp.up.weight", {20, 12}, 0}, {"h.0.mlp.down.weight", {12, 20}, 1},
      {"h.0.ln.weight", {12}, -1},  {"h.1.attn.qkv", {3, 12, 12}, 1},   {"h.1.gain", {}, -1},
      {"h.1.tiny", {2}, 0}};
  return tensors;
}

struct SimulatedLayout {
  int data = 1, tensor = 1, pipeline = 1;
  int ranks() const { return data * tensor * pipeline; }
};

// Any distinct value an element: a function of what is stored where.
inline float simulated_value(const std::string& name, stored::TensorKind kind, int64_t element) {
  return static_cast<float>(element) + 0.25f * static_cast<float>(kind) +
         1000.0f * static_cast<float>(name.size());
}

struct SimulatedPiece {
  const SimulatedTensor* tensor;
  SliceRange range;
  bool writes;  // the first of the replicas
};

// Uneven cut: the first parts get one more.
inline std::pair<int64_t, int64_t> part_of(int64_t size, int parts, int part) {
  const int64_t each = size / parts, more = size % parts;
  const int64_t begin = part * each + std::min<int64_t>(part, more);
  return {begin, begin + each + (part < more ? 1 : 0)};
}

// What rank (data_rank, tensor_rank, pipeline_rank) owns: its tensor shard's box, and of that its data rank's
// flat part.
inline std::vector<SimulatedPiece> pieces_of_rank(const SimulatedLayout& layout, int rank) {
  const int tensor_rank = rank % layout.tensor, data_rank = rank / layout.tensor % layout.data;
  const int pipeline_rank = rank / layout.tensor / layout.data;
  std::vector<SimulatedPiece> pieces;
  const auto& model = simulated_model();
  for (size_t index = 0; index < model.size(); ++index) {
    if (static_cast<int>(index) % layout.pipeline != pipeline_rank) continue;
    SimulatedPiece piece{&model[index], whole(model[index].shape), true};
    const int dim = model[index].tensor_dim;
    if (dim >= 0) {
      const auto [begin, end] = part_of(model[index].shape[dim], layout.tensor, tensor_rank);
      piece.range.box.offset[dim] = begin;
      piece.range.box.size[dim] = end - begin;
    } else {
      piece.writes = tensor_rank == 0;
    }
    const auto [begin, end] = part_of(piece.range.box.size.elements(), layout.data, data_rank);
    piece.range.begin = begin;
    piece.range.end = end;
    pieces.push_back(piece);
  }
  return pieces;
}

inline std::vector<float> values_of(const SimulatedPiece& piece, stored::TensorKind kind) {
  std::vector<float> values(static_cast<size_t>(piece.range.count()));
  for_each_run(piece.range, whole(piece.tensor->shape), [&](int64_t at, int64_t element, int64_t count) {
    for (int64_t index = 0; index < count; ++index)
      values[static_cast<size_t>(at + index)] = simulated_value(piece.tensor->name, kind, element + index);
  });
  return values;
}

inline constexpr stored::TensorKind kAllKinds[] = {stored::WEIGHT, stored::EXP_AVG, stored::EXP_AVG_SQ};

inline std::string write_simulated_rank(const std::filesystem::path& directory, int64_t step,
                                        const SimulatedLayout& layout, int rank) {
  std::vector<std::vector<float>> values;
  std::vector<SaveEntry> entries;
  for (const SimulatedPiece& piece : pieces_of_rank(layout, rank))
    for (stored::TensorKind kind : kAllKinds)
      if (piece.writes) {
        values.push_back(values_of(piece, kind));
        entries.push_back({piece.tensor->name, kind, piece.tensor->shape, piece.range, values.back().data()});
      }
  return write_rank_file(directory, step, rank, entries);
}

inline stored::Manifest simulated_header(int64_t step) {
  stored::Manifest header;
  header.set_step(static_cast<uint64_t>(step));
  header.set_tokens(static_cast<uint64_t>(step) * 4096);
  header.set_consumed_samples(static_cast<uint64_t>(step) * 32);
  header.set_seed(1234);
  header.set_data_fingerprint(0xda7a);
  header.set_model_fingerprint(0x30de1);
  header.set_job_spec("name: \"simulated\"");
  header.mutable_optimizer()->set_kind("adamw");
  header.mutable_optimizer()->set_step_count(static_cast<uint64_t>(step));
  return header;
}

// The whole save; the folder of the checkpoint.
inline std::filesystem::path save_simulated(const std::filesystem::path& directory, int64_t step,
                                            const SimulatedLayout& layout, int keep = 100) {
  begin_save(directory, step);
  std::vector<std::string> fragments;
  for (int rank = 0; rank < layout.ranks(); ++rank)
    fragments.push_back(write_simulated_rank(directory, step, layout, rank));
  commit_save(directory, combine(simulated_header(step), fragments), keep);
  return directory / checkpoint_name(step);
}

}  // namespace octant
