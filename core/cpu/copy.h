// Copies within host memory. Past the size of a core's caches the target is written around them, which saves
// reading it first.
#pragma once

#include <cstdint>

namespace octant::cpu {

// The ranges may overlap.
void copy_bytes(void* to, const void* from, int64_t bytes, int threads);

}  // namespace octant::cpu
