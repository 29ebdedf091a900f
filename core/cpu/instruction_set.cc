#include "core/cpu/instruction_set.h"

#include "core/cpu/pair_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/instruction_set.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

int64_t Target() {
  return HWY_TARGET;
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(Target);

std::string instruction_set() {
  std::string name = hwy::TargetName(HWY_DYNAMIC_DISPATCH(Target)());
  return uses_pair_instruction() ? name + "+BF16" : name;
}

}  // namespace octant::cpu
#endif
