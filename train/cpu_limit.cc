#include "train/cpu_limit.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace octant {
namespace {

namespace fs = std::filesystem;

// The words of a file that has exactly `count` of them; otherwise none.
std::vector<std::string> words_of(const fs::path& path, size_t count) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string word; words.size() <= count && file >> word;) words.push_back(word);
  if (words.size() != count) words.clear();
  return words;
}

std::optional<int64_t> positive(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

std::optional<double> ratio(std::string_view quota, std::string_view period) {
  const std::optional<int64_t> time = positive(quota), of = positive(period);
  if (!time || !of) return std::nullopt;
  return static_cast<double>(*time) / static_cast<double>(*of);
}

std::optional<double> limit_of(const fs::path& group) {
  if (const auto words = words_of(group / "cpu.max", 2); !words.empty()) return ratio(words[0], words[1]);
  const auto quota = words_of(group / "cpu.cfs_quota_us", 1),
             period = words_of(group / "cpu.cfs_period_us", 1);
  if (quota.empty() || period.empty()) return std::nullopt;
  return ratio(quota[0], period[0]);
}

void tighten(std::optional<double>& tightest, const std::optional<double>& limit) {
  if (limit && (!tightest || *limit < *tightest)) tightest = limit;
}

// `group` as /proc/self/cgroup names it, below a mount. A container may be shown its own group as the mount
// while its name is the host's: folders that are not there are skipped.
std::optional<double> tightest_of(const fs::path& mount, const fs::path& group) {
  std::optional<double> tightest;
  fs::path at = mount;
  tighten(tightest, limit_of(at));
  // A process outside of its namespace's root has a name with "..", which says nothing about this mount.
  if (std::find(group.begin(), group.end(), "..") != group.end()) return tightest;
  for (const fs::path& part : group.relative_path()) {
    at /= part;
    tighten(tightest, limit_of(at));
  }
  return tightest;
}

}  // namespace

std::optional<double> cpu_limit(const ControlGroupFiles& files) {
  std::optional<double> tightest;
  const auto look = [&](const fs::path& mount, const std::string& group) {
    tighten(tightest, tightest_of(mount, group));
  };
  // The mounts themselves count even where the membership cannot be read.
  for (const char* mount : {"", "unified", "cpu", "cpu,cpuacct"}) look(files.root / mount, "");
  std::ifstream membership(files.membership);
  for (std::string line; std::getline(membership, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      group = line.substr(second + 1);
    if (controllers.empty()) {
      look(files.root, group);
      look(files.root / "unified", group);
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      look(files.root / controllers, group);
      look(files.root / "cpu", group);
    }
  }
  return tightest;
}

}  // namespace octant
