// The project's own sources, room by room, as the architecture tests read them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace octant::architecture {

struct SourceFile {
  std::string path;  // from the repository's root: "core/tensor.h"
  std::string room;  // "core"
  std::vector<std::string> lines;

  bool is_header() const;
};

// The rooms in their order, each with the rooms that it may include (docs/architecture.md), without what
// those may include in turn.
const std::vector<std::pair<std::string, std::vector<std::string>>>& room_table();
// The same closed over "and what those may include", each room itself included.
std::map<std::string, std::vector<std::string>> allowed_rooms();

// Every .h, .cc, .cu and .proto of the rooms, and of tests/, bench/ and examples/.
std::vector<SourceFile> read_sources();

}  // namespace octant::architecture
