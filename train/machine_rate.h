// What this machine can do, measured with the ranks that are there: the limits that steps and operations are
// set against.
//
// All ranks call; as many measure at once as the machine has cores for, each with the threads of its device.
// The memory that they use is outside of the ledger, whose peak belongs to the training.
#pragma once

#include "core/dtype.h"
#include "parallel/world.h"

namespace octant {

struct MachineRate {
  double total = 0;  // of all ranks that could measure at once
  double each = 0;   // the mean of one of them
};

// FLOP/s of the product (1024, 768) · (3072, 768)ᵀ in `dtype`, measured for about `seconds`. `ranks_here`:
// ranks on this rank's host, `place`: this one's place among them, `cores`: what they share.
struct Neighbourhood {
  int ranks_here = 1;
  int place = 0;
  int cores = 1;
};
MachineRate matmul_rate(World& world, const Neighbourhood& where, DType dtype, double seconds);
// Bytes read and written a second by a copy of 64 MiB.
MachineRate memory_rate(World& world, const Neighbourhood& where);

}  // namespace octant
