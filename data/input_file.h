// Files opened for reading: by position, or mapped.
//
//   InputFile file("runs/data/corpus.txt");
//   file.read(/*offset=*/5'000'000'000, buffer, 4096);
//
// Both are immutable after construction and may be read by any number of threads. Every failure is a
// DataError with the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace octant {

// Reads by position and never through a mapping: a file that another process cuts short under a running job,
// or a network disk that goes away, is then a DataError and not a SIGBUS.
class InputFile {
 public:
  // Throws DataError unless `path` is a readable regular file.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // when it was opened
  // Exactly `bytes` bytes from `offset`; blocks.
  void read(int64_t offset, void* out, int64_t bytes) const;

 private:
  friend class MappedFile;
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

// A whole file as read-only memory; an empty file is an empty span. For indices, which are small beside their
// tokens.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace octant
