#include "tests/architecture/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace octant::architecture {
namespace {

namespace fs = std::filesystem;

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cc" || extension == ".cu" || extension == ".proto";
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

bool SourceFile::is_header() const {
  return path.ends_with(".h");
}

const std::vector<std::pair<std::string, std::vector<std::string>>>& room_table() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> table{
      {"proto", {}},
      {"core", {"proto"}},
      {"parallel", {"core"}},
      {"megatron", {"parallel"}},
      {"models", {"megatron"}},
      {"pipeline", {"parallel", "models"}},
      {"zero", {"parallel", "models"}},
      {"data", {"core"}},
      {"checkpoint", {"models", "zero"}},
      {"job", {"models", "pipeline"}},
      {"train", {"pipeline", "zero", "data", "checkpoint", "job"}},
      {"launch", {"train"}},
  };
  return table;
}

std::map<std::string, std::vector<std::string>> allowed_rooms() {
  std::map<std::string, std::vector<std::string>> allowed;
  // Rooms only name rooms above them in the table, so one pass closes it.
  for (const auto& [room, direct] : room_table()) {
    std::vector<std::string>& rooms = allowed[room];
    rooms.push_back(room);
    for (const std::string& other : direct)
      for (const std::string& reached : allowed.at(other))
        if (std::find(rooms.begin(), rooms.end(), reached) == rooms.end()) rooms.push_back(reached);
  }
  return allowed;
}

std::vector<SourceFile> read_sources() {
  const fs::path root(OCTANT_SOURCE_DIR);
  std::vector<std::string> folders{"tests", "bench", "examples"};
  for (const auto& [room, direct] : room_table()) folders.push_back(room);
  std::vector<SourceFile> sources;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && is_source(entry.path()))
        sources.push_back(
            {fs::relative(entry.path(), root).generic_string(), folder, lines_of(entry.path())});
  }
  std::sort(sources.begin(), sources.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return sources;
}

}  // namespace octant::architecture
