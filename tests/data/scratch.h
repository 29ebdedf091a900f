// What the tests of data/ share: a folder of their own, files of given bytes, and small pairs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/indexed_writer.h"

namespace octant::testing {

// A folder that lives as long as the object.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "octant_data_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path folder_;
};

using Document = std::vector<std::vector<int32_t>>;  // its sequences

inline std::string write_pair(const Scratch& scratch, const std::string& name, TokenType type,
                              const std::vector<Document>& documents) {
  IndexedWriter writer(scratch.path(name), type);
  for (const Document& document : documents) {
    for (const auto& sequence : document) writer.add_sequence(sequence);
    writer.end_document();
  }
  writer.commit();
  return scratch.path(name);
}

// One document of `count` ids that tell where they are: begin, begin + 1, …
inline std::vector<int32_t> counting(int64_t count, int32_t begin = 0) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = begin + static_cast<int32_t>(i);
  return ids;
}

// The message of the error that `action` must throw.
template <typename ErrorType, typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const ErrorType& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline ::testing::AssertionResult holds(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << text << "\" does not hold \"" << part << "\"";
}

}  // namespace octant::testing
