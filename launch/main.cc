#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "launch/command.h"
#include "parallel/world.h"

namespace {

// mpirun gives its ranks a terminal of their own, and writes what they say elsewhere.
bool out_is_terminal() {
  return isatty(STDOUT_FILENO) == 1 && !octant::mpi::launched();
}

}  // namespace

int main(int count, char** arguments) {
  octant::Streams streams{.out = std::cout, .err = std::cerr, .interactive = out_is_terminal()};
  return octant::run_command(std::vector<std::string>(arguments + 1, arguments + count), streams);
}
