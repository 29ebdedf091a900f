// Reads a job spec: text format, JSON (protobuf's own mapping) and --set overrides. Collects what is wrong
// and goes on where it can.
//
//   LoadedSpec loaded = parse_spec_text(text, "job.pbtxt");
//   apply_override("parallel.pipeline_layers=[3,3]", loaded);
//   Validation result = validate(loaded);                       // job/validate.h
//
// Unknown fields, fields of another block and unknown words are collected; a syntax error ends the reading.
// Nothing is printed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job/job.h"
#include "job/spec_error.h"

namespace octant {

struct LoadedSpec {
  std::string source;  // the file's name, as errors show it
  spec::Job message;
  std::map<std::string, std::string>
      places;  // field path ("data.train[0].weight") -> "job.pbtxt:3:5" or "--set"
  std::vector<SpecError> errors;
  bool complete = true;  // false: the reading ended early, so a missing field says nothing

  // Of the field, or of the nearest block around it that was given; else the source.
  std::string place_of(const std::string& path) const;
};

LoadedSpec parse_spec_text(const std::string& text, const std::string& source);
LoadedSpec parse_spec_json(const std::string& json, const std::string& source);

// `assignment` is "path.to.field=value". Enum words, lists ("[3,3]"), elements ("data.train[0].weight=2"),
// whole blocks in text format ("optimizer={sgd{learning_rate: 0.5}}"; a block replaces the old one); strings
// need no quotes. Errors go into loaded.errors.
void apply_override(const std::string& assignment, LoadedSpec& loaded);

// Reads the file (JSON if its name ends in ".json"); a file that cannot be read is an error in the result.
LoadedSpec load_spec(const std::string& path, const std::vector<std::string>& overrides = {});

// load_spec and validate in one; throws UserError with format_errors of everything that is wrong.
// started_ranks: see validate().
Job load_job(const std::string& path, const std::vector<std::string>& overrides = {},
             std::optional<int> started_ranks = std::nullopt);

}  // namespace octant
