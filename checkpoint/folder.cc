#include "checkpoint/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "checkpoint/file_io.h"
#include "checkpoint/manifest.h"
#include "core/error.h"

namespace octant {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "step_", kTemp = ".tmp", kLatest = "latest";
constexpr size_t kDigits = 8;
constexpr uint64_t kMaxLatest = 4096;
constexpr int kFilesNamed = 8;  // of an incomplete checkpoint, in the message

[[noreturn]] void fail(const fs::path& path, std::string_view doing, const std::error_code& error) {
  throw DataError(fmt::format("{}: {} failed: {}", path.string(), doing, error.message()));
}

// The folders directly inside `directory`; none if it is not there.
std::vector<fs::path> subfolders(const fs::path& directory) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  if (error == std::errc::no_such_file_or_directory) return folders;
  while (!error && entry != fs::directory_iterator()) {
    std::error_code unreadable;
    if (entry->is_directory(unreadable) && !entry->is_symlink(unreadable)) folders.push_back(entry->path());
    entry.increment(error);
  }
  if (error) fail(directory, "listing checkpoints", error);
  return folders;
}

void remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) fail(folder, "removing", error);
}

// Whether a listed file is there in its size; empty if so.
std::string fault_of_file(const fs::path& path, uint64_t expected) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error) return fmt::format("{}: {}; {} bytes expected", path.string(), error.message(), expected);
  if (size != expected) return fmt::format("{}: {} bytes expected, {} found", path.string(), expected, size);
  return "";
}

std::vector<FoundCheckpoint> names_in(const fs::path& directory) {
  std::vector<FoundCheckpoint> found;
  for (const fs::path& folder : subfolders(directory))
    if (const auto step = step_of_checkpoint_name(folder.filename().string()))
      found.push_back({*step, folder, ""});
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return found;
}

}  // namespace

std::string checkpoint_name(int64_t step) {
  return fmt::format("{}{:08d}", kPrefix, step);
}
std::string checkpoint_temp_name(int64_t step) {
  return checkpoint_name(step) + std::string(kTemp);
}

std::optional<int64_t> step_of_checkpoint_name(const std::string& name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kDigits) return std::nullopt;
  int64_t step = 0;
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(begin, end, step);
  if (error != std::errc() || stopped != end || step < 0 || checkpoint_name(step) != name)
    return std::nullopt;
  return step;
}

std::string incompleteness_of(const fs::path& folder) {
  stored::Manifest manifest;
  try {
    manifest = read_manifest(folder);
  } catch (const DataError& error) {
    return error.what();
  }
  if (const auto step = step_of_checkpoint_name(folder.filename().string());
      step && static_cast<uint64_t>(*step) != manifest.step())
    return fmt::format("{}: its manifest is of step {}", folder.string(), manifest.step());
  std::string faults;
  int faulty = 0;
  for (const stored::File& file : manifest.files()) {
    const std::string fault = fault_of_file(folder / file.name(), file.size());
    if (!fault.empty() && faulty++ < kFilesNamed) faults += (faults.empty() ? "" : "; ") + fault;
  }
  if (faulty > kFilesNamed) faults += fmt::format("; and {} more files", faulty - kFilesNamed);
  return faults;
}

std::vector<FoundCheckpoint> find_checkpoints(const fs::path& directory) {
  std::vector<FoundCheckpoint> found = names_in(directory);
  for (FoundCheckpoint& checkpoint : found) checkpoint.fault = incompleteness_of(checkpoint.folder);
  return found;
}

NewestCheckpoint newest_checkpoint(const fs::path& directory) {
  NewestCheckpoint newest;
  std::vector<FoundCheckpoint> found = names_in(directory);
  for (auto checkpoint = found.rbegin(); checkpoint != found.rend(); ++checkpoint) {
    checkpoint->fault = incompleteness_of(checkpoint->folder);
    if (checkpoint->complete()) {
      newest.found = *checkpoint;
      break;
    }
    newest.skipped.push_back(*checkpoint);
  }
  return newest;
}

void write_latest(const fs::path& directory, int64_t step) {
  replace_file(directory / kLatest, checkpoint_name(step) + "\n");
}

std::optional<std::string> read_latest(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory / kLatest, error)) return std::nullopt;
  std::string name = read_small_file(directory / kLatest, kMaxLatest);
  while (!name.empty() && (name.back() == '\n' || name.back() == ' ')) name.pop_back();
  return name;
}

std::vector<fs::path> apply_retention(const fs::path& directory, int64_t newest_step, int keep) {
  std::vector<FoundCheckpoint> complete;
  for (FoundCheckpoint& checkpoint : find_checkpoints(directory))
    if (checkpoint.complete() && checkpoint.step <= newest_step) complete.push_back(std::move(checkpoint));
  std::vector<fs::path> removed;
  if (complete.empty() || complete.back().step != newest_step) return removed;
  const size_t kept = static_cast<size_t>(std::max(keep, 1));
  for (size_t index = 0; index + kept < complete.size(); ++index) {
    const fs::path& folder = complete[index].folder;
    // Renamed first: a removal that is cut short leaves a dead save, never a checkpoint with holes.
    const fs::path dying = folder.string() + std::string(kTemp);
    std::error_code error;
    fs::remove_all(dying, error);
    fs::rename(folder, dying, error);
    if (error) fail(folder, "removing an old checkpoint", error);
    remove_folder(dying);
    removed.push_back(folder);
  }
  if (!removed.empty()) sync_folder(directory);
  return removed;
}

std::vector<fs::path> remove_dead_saves(const fs::path& directory) {
  std::vector<fs::path> removed;
  for (const fs::path& folder : subfolders(directory)) {
    const std::string name = folder.filename().string();
    if (!name.ends_with(kTemp) || !step_of_checkpoint_name(name.substr(0, name.size() - kTemp.size())))
      continue;
    remove_folder(folder);
    removed.push_back(folder);
  }
  std::sort(removed.begin(), removed.end());
  return removed;
}

}  // namespace octant
