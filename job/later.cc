#include "job/later.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace octant {

bool is_later(const google::protobuf::EnumValueDescriptor& word) {
  static constexpr std::array<std::string_view, 8> kLater = {
      "octant.spec.Family.MIXTRAL",       "octant.spec.Schedule.INTERLEAVED",
      "octant.spec.Schedule.ZERO_BUBBLE", "octant.spec.CheckpointingMode.SELECTIVE",
      "octant.spec.DeviceKind.CUDA",      "octant.spec.Transport.NCCL",
      "octant.spec.OffloadDevice.CPU",    "octant.spec.OffloadDevice.NVME"};
  return std::find(kLater.begin(), kLater.end(), word.full_name()) != kLater.end();
}

}  // namespace octant
