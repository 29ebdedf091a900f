// The rules of the house that can be read off the sources, so that docs/architecture.md cannot rot.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "tests/architecture/source_tree.h"

namespace octant::architecture {
namespace {

constexpr size_t kMostLines = 400;

// What follows #include "…", without the quotes; empty for another line.
std::string included_by(const std::string& line) {
  static const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::smatch match;
  return std::regex_search(line, match, include) ? match[1].str() : std::string();
}

bool is_room(const SourceFile& file) {
  return std::any_of(room_table().begin(), room_table().end(),
                     [&](const auto& row) { return row.first == file.room; });
}

// Comments say what code must not do, and string literals may quote it.
std::string code_of(const std::string& line) {
  static const std::regex literal(R"re("(\\.|[^"\\])*")re");
  const std::string code = std::regex_replace(line, literal, "\"\"");
  return code.substr(0, code.find("//"));
}

// Lines of the rooms' files that match, as "path:line: text".
std::vector<std::string> lines_with(const std::regex& pattern, const std::vector<std::string>& but_not_in) {
  std::vector<std::string> found;
  for (const SourceFile& file : read_sources()) {
    if (!is_room(file)) continue;
    if (std::any_of(but_not_in.begin(), but_not_in.end(),
                    [&](const std::string& prefix) { return file.path.starts_with(prefix); }))
      continue;
    for (size_t i = 0; i < file.lines.size(); ++i)
      if (std::regex_search(file.lines[i], pattern) && std::regex_search(code_of(file.lines[i]), pattern))
        found.push_back(file.path + ":" + std::to_string(i + 1) + ": " + file.lines[i]);
  }
  return found;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(Architecture, EveryRoomIsThere) {
  std::set<std::string> seen;
  for (const SourceFile& file : read_sources()) seen.insert(file.room);
  for (const auto& [room, direct] : room_table()) EXPECT_TRUE(seen.count(room)) << room << " has no sources";
}

TEST(Architecture, ARoomIncludesOnlyRoomsThatItMay) {
  const auto allowed = allowed_rooms();
  int includes = 0;
  for (const SourceFile& file : read_sources()) {
    if (!is_room(file)) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string included = included_by(file.lines[i]);
      const size_t slash = included.find('/');
      if (included.empty() || slash == std::string::npos) continue;
      const std::string room = included.substr(0, slash);
      const auto& rooms = allowed.at(file.room);
      ++includes;
      EXPECT_NE(std::find(rooms.begin(), rooms.end(), room), rooms.end())
          << file.path << ":" << i + 1 << " includes " << included << ", and " << file.room
          << "/ may not use " << room << "/";
    }
  }
  EXPECT_GT(includes, 100);
}

TEST(Architecture, IncludesBeginAtTheRoot) {
  const auto rooms = allowed_rooms();
  for (const SourceFile& file : read_sources()) {
    if (!is_room(file)) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string included = included_by(file.lines[i]);
      if (included.empty()) continue;
      EXPECT_TRUE(rooms.count(included.substr(0, included.find('/'))))
          << file.path << ":" << i + 1 << " includes " << included << "; write it from the repository's root";
    }
  }
}

TEST(Architecture, EveryHeaderBeginsWithABanner) {
  for (const SourceFile& file : read_sources()) {
    if (!file.is_header()) continue;
    ASSERT_FALSE(file.lines.empty()) << file.path;
    EXPECT_TRUE(file.lines.front().starts_with("// ")) << file.path << " says nothing about itself";
    // Files that Highway includes once a target have guards of its own.
    const bool once = std::any_of(file.lines.begin(), file.lines.end(), [](const std::string& line) {
      return line == "#pragma once" || line.find("HWY_TARGET_TOGGLE") != std::string::npos;
    });
    EXPECT_TRUE(once) << file.path << " has no #pragma once";
  }
}

TEST(Architecture, FilesAreSmall) {
  for (const SourceFile& file : read_sources()) {
    if (!is_room(file)) continue;
    EXPECT_LE(file.lines.size(), kMostLines) << file.path << ": one concept a file";
  }
}

// Rooms return values and throw; the command and the training loop talk.
TEST(Architecture, OnlyTheCommandAndTheLoopPrint) {
  const std::regex prints(
      R"re(\bstd::(cout|cerr|clog)\b|\bf?printf\s*\(|\bf?puts\s*\(|\bfmt::print\b|\bperror\s*\(|#\s*include\s*<iostream>)re");
  EXPECT_EQ(joined(lines_with(prints, {"launch/", "train/"})), "");
}

TEST(Architecture, OnlyTheCommandHandlesSignals) {
  const std::regex signals(R"re(\bsigaction\s*\(|\bstd::signal\s*\(|\bsignal\s*\(\s*SIG)re");
  EXPECT_EQ(joined(lines_with(signals, {"launch/"})), "");
}

TEST(Architecture, NobodyEndsTheProcessButTheCommand) {
  const std::regex ends(R"re(\b(std::)?(exit|_exit|quick_exit|abort|terminate)\s*\()re");
  EXPECT_EQ(joined(lines_with(ends, {"launch/"})), "");
}

TEST(Architecture, NothingIsCheckedByAssert) {
  EXPECT_EQ(joined(lines_with(std::regex(R"re((^|[^_\w])assert\s*\()re"), {})), "");
}

TEST(Architecture, WaitingDoesNotSleepOutsideTheTransportThatMust) {
  EXPECT_EQ(joined(lines_with(std::regex(R"re(\bsleep_(for|until)\s*\(|\bu?sleep\s*\(|\bnanosleep\s*\()re"),
                              {"launch/", "parallel/mpi/"})),
            "");
}

// Paths of one machine, and words that promise to finish something another time. Comments count.
TEST(Architecture, SourcesSpeakOfNoMachineAndPromiseNothing) {
  const std::regex path(R"re((^|[^\w.])/(home|root|work|Users)/\w)re");
  const std::regex promise(R"re(\b(TODO|FIXME|XXX|HACK)\b)re");
  for (const SourceFile& file : read_sources()) {
    if (file.room == "tests") continue;  // this file would find itself
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      EXPECT_FALSE(std::regex_search(line, path)) << file.path << ":" << i + 1 << ": " << line;
      EXPECT_FALSE(std::regex_search(line, promise)) << file.path << ":" << i + 1 << ": " << line;
    }
  }
}

// The rules above are only worth something if they can fail.
TEST(Architecture, TheRulesFindWhatTheyLookFor) {
  EXPECT_EQ(included_by("#include \"core/tensor.h\""), "core/tensor.h");
  EXPECT_EQ(included_by("#include <vector>"), "");
  EXPECT_EQ(included_by("  // #include \"core/tensor.h\""), "");
  EXPECT_EQ(code_of("f(\"std::cout // no\");  // std::cerr"), "f(\"\");  ");
  const auto allowed = allowed_rooms();
  const auto may = [&](const std::string& room, const std::string& other) {
    const auto& rooms = allowed.at(room);
    return std::find(rooms.begin(), rooms.end(), other) != rooms.end();
  };
  EXPECT_TRUE(may("megatron", "proto"));
  EXPECT_TRUE(may("checkpoint", "core"));
  EXPECT_TRUE(may("launch", "zero"));
  EXPECT_FALSE(may("pipeline", "zero"));
  EXPECT_FALSE(may("zero", "pipeline"));
  EXPECT_FALSE(may("data", "parallel"));
  EXPECT_FALSE(may("core", "parallel"));
}

}  // namespace
}  // namespace octant::architecture
