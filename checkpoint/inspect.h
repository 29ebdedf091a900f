// Looking at whole checkpoints: are the bytes right, do two hold the same, what is in there. Streams in
// pieces of bounded memory.
//
//   VerifyReport report = verify_checkpoint(folder, {.finite = true});     // report.ok(), report.problems
//   DiffReport diff = diff_checkpoints(a, b, {.weights_only = false});     // diff.same(), diff.tensors
//
// Any layouts may have written the two sides of a diff: logical tensors are compared, not files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "proto/checkpoint.pb.h"

namespace octant {

struct VerifyOptions {
  bool finite = false;  // also refuse NaN and infinities
};
struct VerifyReport {
  int64_t tensors = 0, slices = 0;
  uint64_t bytes = 0;
  std::vector<std::string> problems;  // one a damaged slice or file, naming it
  bool ok() const { return problems.empty(); }
};
// Reads every byte. Throws DataError only where there is no manifest to go by; all other damage is collected.
VerifyReport verify_checkpoint(const std::filesystem::path& folder, const VerifyOptions& options = {});

enum class DiffState : uint8_t { kEqual, kDifferent, kOtherShape, kOnlyInFirst, kOnlyInSecond };
struct TensorDiff {
  std::string name;
  stored::TensorKind kind = stored::WEIGHT;
  DiffState state = DiffState::kEqual;  // kEqual: bit for bit
  int64_t differing = 0;                // elements
  double largest = 0;                   // magnitude on either side
  double max_absolute = 0;              // difference; infinite where only one side is finite
  double max_relative() const {
    return max_absolute == 0 ? 0 : max_absolute / largest;
  }  // to the tensor's largest
};
struct DiffOptions {
  bool weights_only = false;
};
struct DiffReport {
  std::vector<TensorDiff> tensors;  // by name and kind
  bool same() const;
  std::string text() const;  // one line a tensor that differs, and a last line that sums up
};
DiffReport diff_checkpoints(const std::filesystem::path& first, const std::filesystem::path& second,
                            const DiffOptions& options = {});

// What a person wants to know: step, tokens, optimizer, files, parameters, every tensor with its shape.
std::string checkpoint_info(const std::filesystem::path& folder);

}  // namespace octant
