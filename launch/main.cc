#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "launch/command.h"

int main(int count, char** arguments) {
  octant::Streams streams{.out = std::cout, .err = std::cerr, .interactive = isatty(STDOUT_FILENO) == 1};
  return octant::run_command(std::vector<std::string>(arguments + 1, arguments + count), streams);
}
