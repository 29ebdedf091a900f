#include "job/spec_error.h"

#include <fmt/format.h>

namespace octant {

std::string format_error(const SpecError& error) {
  std::string text;
  if (!error.place.empty()) text += error.place + ": ";
  if (!error.field.empty()) {
    text += error.field;
    if (!error.value.empty()) text += "=" + error.value;
    text += ": ";
  }
  text += error.rule;
  if (!error.fix.empty()) text += "; " + error.fix;
  return text;
}

std::string format_errors(const std::vector<SpecError>& errors) {
  std::string text;
  for (const SpecError& error : errors) {
    if (!text.empty()) text += "\n\n";
    text += format_error(error);
  }
  if (errors.size() > 1) text += fmt::format("\n\n{} errors in the job spec", errors.size());
  return text;
}

}  // namespace octant
