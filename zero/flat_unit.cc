#include "zero/flat_unit.h"

#include <algorithm>

namespace octant {

FlatUnit::FlatUnit(const ParameterUnit& unit, int data_size)
    : name(unit.name), tied_over_pipeline(unit.tied_over_pipeline) {
  for (Parameter* parameter : unit.parameters) {
    ranges.push_back({parameter, elements, elements + parameter->local_elements()});
    elements += parameter->local_elements();
  }
  slice = (elements + data_size - 1) / data_size;
  padded = slice * data_size;
}

FlatCut cut(int64_t range_begin, int64_t range_end, int64_t begin, int64_t end) {
  return {std::max(range_begin, begin), std::min(range_end, end)};
}

}  // namespace octant
