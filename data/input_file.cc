#include "data/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace octant {

namespace {

[[noreturn]] void fail(const std::string& path, const char* action) {
  throw DataError(fmt::format("{}: cannot {}: {}", path, action, std::strerror(errno)));
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // Without blocking, so that a pipe nobody writes to is refused below and not waited for.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail(path_, "open");
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int reason = errno;
    ::close(descriptor_);
    errno = reason;
    fail(path_, "stat");
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw DataError(fmt::format("{}: is not a regular file; data are read from regular files", path_));
  }
  size_ = status.st_size;
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::read(int64_t offset, void* out, int64_t bytes) const {
  // One read() moves at most about 2 GiB; smaller pieces behave alike on every file system.
  constexpr int64_t kPiece = int64_t{1} << 30;
  auto* to = static_cast<char*>(out);
  int64_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor_, to + done, static_cast<size_t>(std::min(kPiece, bytes - done)), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "read");
    if (got == 0)
      throw DataError(fmt::format(
          "{}: ends at byte {}, expected at least {} bytes: the file was cut short after it was opened "
          "with {} bytes",
          path_, offset + done, offset + bytes, size_));
    done += got;
  }
}

MappedFile::MappedFile(const std::string& path) {
  const InputFile file(path);
  if (file.size() == 0) return;
  const auto size = static_cast<size_t>(file.size());
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor_, 0);
  if (data == MAP_FAILED) fail(path, "map");
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace octant
