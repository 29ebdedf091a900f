// How the tokens of a source are cut into samples, and which of them train.
//
//   WindowSplit split = split_windows(source, /*sequence_length=*/128, /*validation_fraction=*/0.01);
//
// Window w holds tokens [w·T, w·T + T]: T inputs and, one to the right, T targets, so windows overlap by one
// token and no target belongs to two. A validation fraction f takes the last ⌈f·n⌉ of the n windows.
#pragma once

#include <cstdint>

#include "data/token_source.h"

namespace octant {

struct WindowSplit {
  int64_t train = 0;       // windows [0, train)
  int64_t validation = 0;  // windows [train, train + validation)
};

// Throws DataError when the source holds no window, or the fraction leaves none to train on.
WindowSplit split_windows(const TokenSource& source, int64_t sequence_length, double validation_fraction);

}  // namespace octant
