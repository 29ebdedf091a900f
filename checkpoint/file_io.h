// Files of a checkpoint: whole reads and writes at offsets, and what makes them last. Every failure is a
// DataError with the path, what was being done and the system's own words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace octant {

// An open file; closed with the object. Movable.
class File {
 public:
  static File open_to_read(const std::filesystem::path& path);  // regular files only
  static File create(const std::filesystem::path& path);        // replaces what is there
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  // Loop until all is done: one system call moves at most about 2 GiB.
  void write_at(uint64_t offset, const void* data, size_t bytes);
  void read_at(uint64_t offset, void* data, size_t bytes) const;  // a file that ends early is an error
  uint64_t size() const;
  void sync();
  const std::filesystem::path& path() const { return path_; }

 private:
  File(int descriptor, std::filesystem::path path);
  int descriptor_;
  std::filesystem::path path_;
};

[[noreturn]] void fail_with_errno(const std::filesystem::path& path, std::string_view doing);

// Makes the names in a folder last (created, renamed, removed).
void sync_folder(const std::filesystem::path& folder);

// Writes a small file so that a reader sees the old content or the new, never a part.
void replace_file(const std::filesystem::path& path, std::string_view content);
// The whole content; a file of more than `limit` bytes is refused before any memory is taken for it.
std::string read_small_file(const std::filesystem::path& path, uint64_t limit);

}  // namespace octant
