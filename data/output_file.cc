#include "data/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/error.h"

namespace octant {

namespace {
constexpr size_t kBufferBytes = size_t{1} << 20;
}

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.partial.{}", path_, ::getpid())) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("create");
  buffer_.reserve(kBufferBytes);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!published_) ::unlink(temporary_.c_str());
}

void OutputFile::fail(const char* action) const {
  throw DataError(
      fmt::format("{}: cannot {} after {} bytes: {}", path_, action, written_, std::strerror(errno)));
}

void OutputFile::write(const void* data, int64_t bytes) {
  const auto* from = static_cast<const char*>(data);
  if (buffer_.size() + static_cast<size_t>(bytes) > kBufferBytes) {
    write_through(buffer_.data(), static_cast<int64_t>(buffer_.size()));
    buffer_.clear();
  }
  if (static_cast<size_t>(bytes) >= kBufferBytes)
    write_through(from, bytes);
  else
    buffer_.insert(buffer_.end(), from, from + bytes);
}

void OutputFile::write_through(const char* data, int64_t bytes) {
  constexpr int64_t kPiece = int64_t{1} << 30;  // one write() moves at most about 2 GiB
  int64_t done = 0;
  while (done < bytes) {
    const ssize_t put =
        ::write(descriptor_, data + done, static_cast<size_t>(std::min(kPiece, bytes - done)));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write");
    done += put;
    written_ += put;
  }
}

void OutputFile::finish() {
  write_through(buffer_.data(), static_cast<int64_t>(buffer_.size()));
  buffer_.clear();
  if (::fsync(descriptor_) != 0) fail("sync");
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0) fail("close");
}

void OutputFile::publish() {
  if (descriptor_ >= 0) throw BugError("an output file is published before it is finished");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  published_ = true;
  const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
  const std::filesystem::path folder = parent.empty() ? std::filesystem::path(".") : parent;
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail("open the folder");
  const int result = ::fsync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  // Some file systems know no sync of a folder; the file itself is safe.
  if (result != 0 && reason != EINVAL) fail("sync the folder");
}

}  // namespace octant
