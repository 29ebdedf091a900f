// A file that appears under its name only when it is whole.
//
//   OutputFile file("runs/data/books.bin");
//   file.write(bytes, count);
//   file.finish();      // everything is on the disk, still under the temporary name
//   file.publish();     // now it is books.bin
//
// Until publish() the bytes lie beside the target under a name of this process; the destructor removes it.
// Failures (a full disk, a folder that cannot be written) are DataError with the path and the system's
// reason. Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octant {

class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  void write(const void* data, int64_t bytes);
  void finish();   // flush, fsync, close
  void publish();  // rename, and fsync of the folder

 private:
  void write_through(const char* data, int64_t bytes);
  [[noreturn]] void fail(const char* action) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  bool published_ = false;
  int64_t written_ = 0;
  std::vector<char> buffer_;
};

}  // namespace octant
