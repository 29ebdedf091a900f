// One thing wrong with a job spec, in the five parts that a person needs to mend it.
#pragma once

#include <string>
#include <vector>

namespace octant {

struct SpecError {
  std::string place;  // "job.pbtxt:12:3", "--set", "default"; columns count from 1
  std::string field;  // "parallel.tensor"; empty for a syntax error
  std::string value;  // as given; empty if there is none
  std::string rule;   // what is wrong
  std::string fix;    // a value that works

  bool operator==(const SpecError&) const = default;
};

// "job.pbtxt:12:3: parallel.tensor=4: does not divide model.num_kv_heads=6; use 1, 2, 3 or 6"
std::string format_error(const SpecError& error);
// One error a paragraph, with the number of errors at the end where there are several.
std::string format_errors(const std::vector<SpecError>& errors);

}  // namespace octant
