// Collects what the rules find, with the place and the value of each field.
#pragma once

#include <string>
#include <vector>

#include "job/load.h"
#include "job/spec_error.h"
#include "proto/job.pb.h"

namespace octant {

class SpecReport {
 public:
  SpecReport(const LoadedSpec& loaded, const spec::Job& effective)
      : loaded_(loaded), effective_(effective), errors_(loaded.errors) {}

  // A field that was already reported (a value of the wrong kind), or a block around it, is not reported
  // again.
  void add(const std::string& field, const std::string& rule, const std::string& fix);
  void notice(const std::string& line) { notices_.push_back(line); }

  // Written in the spec or by --set, and not by a default or a preset.
  bool given(const std::string& field) const;
  bool reported(const std::string& field) const;

  const std::vector<SpecError>& errors() const { return errors_; }
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  const LoadedSpec& loaded_;
  const spec::Job& effective_;
  std::vector<SpecError> errors_;
  std::vector<std::string> notices_;
};

}  // namespace octant
