// The flat layout of one parameter unit: parameters one after another, padded at the end to a multiple of the
// data size. Data rank r owns elements [r · slice, (r + 1) · slice), wherever parameter borders fall (ZeRO,
// section 5). The same on every tensor rank.
#pragma once

#include <string>
#include <vector>

#include "models/model_stage.h"

namespace octant {

struct FlatRange {
  Parameter* parameter = nullptr;
  int64_t begin = 0,
          end = 0;  // storage in the flat unit; unpadded elements end at begin + parameter->box_elements()
};

struct FlatUnit {
  std::string name;
  std::vector<FlatRange> ranges;
  int64_t elements = 0;  // of all parameters, vocabulary padding included
  int64_t padded = 0;    // elements rounded up to a multiple of the data size
  int64_t slice = 0;     // padded / data size
  bool tied_over_pipeline = false;

  FlatUnit(const ParameterUnit& unit, int data_size);
};

// The part of `range` that lies in [begin, end), as flat coordinates; empty if first >= last.
struct FlatCut {
  int64_t first = 0, last = 0;
  bool empty() const { return first >= last; }
  int64_t count() const { return last - first; }
};
FlatCut cut(int64_t range_begin, int64_t range_end, int64_t begin, int64_t end);

}  // namespace octant
