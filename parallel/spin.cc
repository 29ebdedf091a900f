#include "parallel/spin.h"

#include <sched.h>

namespace octant {

int cores_allowed() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace octant
