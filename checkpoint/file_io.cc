#include "checkpoint/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace octant {
namespace {

constexpr size_t kPiece = size_t{1} << 30;

}  // namespace

void fail_with_errno(const std::filesystem::path& path, std::string_view doing) {
  const std::string why = std::system_category().message(errno);
  throw DataError(fmt::format("{}: {} failed: {}", path.string(), doing, why));
}

File::File(int descriptor, std::filesystem::path path) : descriptor_(descriptor), path_(std::move(path)) {}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File File::open_to_read(const std::filesystem::path& path) {
  // O_NONBLOCK: a named pipe must be refused below, not waited for here.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail_with_errno(path, "opening");
  File file(descriptor, path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_with_errno(path, "reading its status");
  if (!S_ISREG(status.st_mode))
    throw DataError(path.string() + ": expected a regular file, found another kind of entry");
  return file;
}

File File::create(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail_with_errno(path, "creating");
  return File(descriptor, path);
}

void File::write_at(uint64_t offset, const void* data, size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor_, next, std::min(bytes, kPiece), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) fail_with_errno(path_, "writing");
    next += written;
    offset += static_cast<uint64_t>(written);
    bytes -= static_cast<size_t>(written);
  }
}

void File::read_at(uint64_t offset, void* data, size_t bytes) const {
  auto* next = static_cast<char*>(data);
  const uint64_t end = offset + bytes;
  while (bytes > 0) {
    const ssize_t count = ::pread(descriptor_, next, std::min(bytes, kPiece), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with_errno(path_, "reading");
    if (count == 0)
      throw DataError(
          fmt::format("{}: ends at byte {}, expected at least {} bytes", path_.string(), offset, end));
    next += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<size_t>(count);
  }
}

uint64_t File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_with_errno(path_, "reading its size");
  return static_cast<uint64_t>(status.st_size);
}

void File::sync() {
  if (::fsync(descriptor_) != 0) fail_with_errno(path_, "syncing to disk");
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_with_errno(folder, "opening the folder");
  const int result = ::fsync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  // Some network file systems cannot sync folders and need not; that is no failure of ours.
  if (result != 0 && reason != EINVAL && reason != ENOTSUP)
    fail_with_errno(folder, "syncing the folder to disk");
}

void replace_file(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path fresh = path.string() + ".tmp";
  {
    File file = File::create(fresh);
    file.write_at(0, content.data(), content.size());
    file.sync();
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) fail_with_errno(path, "replacing");
  sync_folder(path.parent_path());
}

std::string read_small_file(const std::filesystem::path& path, uint64_t limit) {
  const File file = File::open_to_read(path);
  const uint64_t bytes = file.size();
  if (bytes > limit)
    throw DataError(fmt::format("{}: expected at most {} bytes, found {}", path.string(), limit, bytes));
  std::string content(bytes, '\0');
  file.read_at(0, content.data(), content.size());
  return content;
}

}  // namespace octant
