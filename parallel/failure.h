// How a transport tells an exception to other ranks: code, text, and whether this rank is at fault or was
// only woken.
#pragma once

#include <exception>
#include <string>

#include "core/error.h"

namespace octant {

struct Failure {
  ExitCode code = ExitCode::kBug;
  std::string text;
  bool at_fault = true;
};

// What the exception says; anything that is not an octant::Error counts as a bug, std::bad_alloc as memory.
Failure describe(const std::exception_ptr& error);

}  // namespace octant
