// Loading any part of any tensor from a checkpoint, whatever layout wrote it.
//
//   CheckpointReader reader("checkpoints/step_00000100");   // sound and complete, or DataError
//   reader.read("wte.weight", stored::WEIGHT, {257, 64}, my_range, my_floats);
//
// Reads only the bytes that the range needs (small gaps between rows are read over), with memory bounded by
// one piece. No communication: every rank has a reader of its own. Not safe to use from two threads at once.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/box.h"
#include "checkpoint/safetensors.h"
#include "proto/checkpoint.pb.h"

namespace octant {

class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const stored::Manifest& manifest() const { return manifest_; }
  bool has(const std::string& name, stored::TensorKind kind) const;

  // Fills data[0 … range.count()) with those elements of the tensor. DataError if the tensor is missing (with
  // the nearest name), has another global shape, or is not held in full over the range; each names both
  // sides.
  void read(const std::string& name, stored::TensorKind kind, const Shape& global_shape,
            const SliceRange& range, float* data);
  void read(const stored::Tensor& tensor, const SliceRange& range, float* data);

  // The file that a slice lies in, opened and its header checked; valid until the next call.
  const SafetensorsReader& file_of(const stored::Slice& slice);

 private:
  struct Run {
    int64_t target, source, count;
  };
  void read_slice(const stored::Slice& slice, const SliceRange& range, float* data);
  void read_batch(const SafetensorsReader& file, uint64_t slice_offset, float* data);

  std::filesystem::path folder_;
  stored::Manifest manifest_;
  std::map<uint32_t, std::unique_ptr<SafetensorsReader>> open_;  // by index of Manifest.files; bounded
  std::vector<Run> batch_;                                       // short runs that one read fetches together
  std::vector<float> buffer_;                                    // what that read brings
};

}  // namespace octant
