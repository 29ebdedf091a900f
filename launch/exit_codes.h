// The last word of a failed command: its message, once, and its exit code.
#pragma once

#include <exception>
#include <string>

#include "launch/streams.h"

namespace octant {

// The table of all exit codes, as --help prints it.
std::string exit_codes_text();

// Prints "octant: <message>" as the last line(s) of `err` and returns `exit_code`. A bug of ours asks for a
// report.
int fail(Streams& streams, int exit_code, const std::string& message);
// The same for an exception: an octant::Error's own code, memory for std::bad_alloc, a bug for anything else.
int fail(Streams& streams, const std::exception_ptr& error);

}  // namespace octant
