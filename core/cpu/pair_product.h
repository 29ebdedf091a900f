// Products of small bf16 matrices that sum in f32, two terms of a sum at a time: what the bf16 dot product
// instruction of recent processors does (AVX512_BF16), and what others do with shifts and f32 arithmetic.
//
// A pair is two bf16 numbers side by side, the earlier one in the lower half of 32 bits. Bits depend on the
// instruction set: the instruction rounds less often, and takes subnormal numbers for zero.
#pragma once

#include <cstdint>

#include "core/math/float16.h"

namespace octant::cpu {

inline constexpr int64_t kPairColumns = 16;  // `columns` is a multiple of it

// c[m][n] = sum over the pairs p of first(a[m][p]) · first(b[p][n]) + second(a[m][p]) · second(b[p][n]), or
// added to what c holds. Strides count elements; c overlaps neither a nor b. An element's sum runs over the
// pairs in order.
struct PairProductArgs {
  int64_t rows = 0, columns = 0, pairs = 0;
  const uint32_t* a = nullptr;
  int64_t lda = 0;
  const uint32_t* b = nullptr;
  int64_t ldb = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  bool accumulate = false;
};
void pair_product(const PairProductArgs& args);

// Whether pair_product uses the instruction here.
bool uses_pair_instruction();

// The one with the instruction, to be called only where the processor has it.
bool has_pair_instruction();
void pair_product_by_instruction(const PairProductArgs& args);

inline uint32_t pair_of(BFloat16 first, BFloat16 second) {
  return first.bits | static_cast<uint32_t>(second.bits) << 16;
}

}  // namespace octant::cpu
