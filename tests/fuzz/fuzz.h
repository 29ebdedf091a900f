// What a fuzz target gives to its driver (tests/fuzz/driver.cc, or libFuzzer, which needs the first function
// only).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Feeds one input to the parser under test; returns 0. Aborts when the parser accepts what it must not.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace octant::fuzz {

// Inputs that the parser accepts, from which mutations start.
std::vector<std::vector<uint8_t>> valid_inputs();

}  // namespace octant::fuzz
