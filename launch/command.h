// The `octant` command: finds the verb, runs it, and turns whatever went wrong into one message and the
// documented exit code.
//
//   int main(int n, char** a) {
//     return octant::run_command({a + 1, a + n}, {.out = std::cout, .err = std::cerr});
//   }
//
// Never throws. The exit codes are those of core/error.h and 128 + n for signal n.
#pragma once

#include <string>
#include <vector>

#include "launch/streams.h"

namespace octant {

int run_command(const std::vector<std::string>& arguments, Streams& streams);

}  // namespace octant
