// The CPU as a device: oneDNN for matrix products, Highway for the rest, dispatched at run time.
#pragma once

#include <memory>

#include "core/backend.h"

namespace octant::cpu {

struct Options {
  int threads = 1;  // worker threads of each operation, the caller included; at least 1
};

std::unique_ptr<Backend> make_backend(const Options& options);

}  // namespace octant::cpu
