#include "job/report.h"

#include <algorithm>

#include "job/field_names.h"

namespace octant {

bool SpecReport::reported(const std::string& field) const {
  return std::any_of(errors_.begin(), errors_.end(), [&](const SpecError& e) {
    const bool around = !e.field.empty() && field.size() > e.field.size() && field[e.field.size()] == '.';
    return e.field == field || (around && field.compare(0, e.field.size(), e.field) == 0);
  });
}

bool SpecReport::given(const std::string& field) const {
  return value_text(loaded_.message, field).has_value();
}

void SpecReport::add(const std::string& field, const std::string& rule, const std::string& fix) {
  if (reported(field)) return;
  const auto written = value_text(loaded_.message, field);
  const auto value = written ? written : value_text(effective_, field);
  SpecError error{loaded_.place_of(field), field, value.value_or(""), rule, fix};
  if (value && !written) error.value += " (default)";
  errors_.push_back(std::move(error));
}

}  // namespace octant
