#include "bench/step/process.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace octant::bench {

double peak_resident_bytes() {
  rusage usage{};
  // Linux counts it in KiB.
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<double>(usage.ru_maxrss) * 1024 : 0;
}

double seconds_since_process_start() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The second field is the program's name in brackets and may hold blanks; the start is the 22nd field.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int index = 3; index <= 22; ++index)
    if (!(fields >> field)) return 0;
  timespec now{};
  if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace octant::bench
