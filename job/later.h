// Words of the spec that belong to later issues: they parse and are refused by name.
#pragma once

#include <google/protobuf/descriptor.h>

namespace octant {

bool is_later(const google::protobuf::EnumValueDescriptor& word);

}  // namespace octant
