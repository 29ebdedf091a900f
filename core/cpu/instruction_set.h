// Which of the instruction sets that the vector code was built for runs on this processor.
#pragma once

#include <string>

namespace octant::cpu {

std::string instruction_set();

}  // namespace octant::cpu
