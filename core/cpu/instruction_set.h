// Which of the instruction sets that the vector code was built for runs on this processor, and "+BF16" where
// attention's bf16 products use the processor's instruction for them.
#pragma once

#include <string>

namespace octant::cpu {

std::string instruction_set();

}  // namespace octant::cpu
