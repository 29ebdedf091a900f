#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "checkpoint/safetensors.h"
#include "core/error.h"

namespace octant {
namespace {

using Json = nlohmann::json;
constexpr uint64_t kLengthBytes = 8;

// Reads one header; every failure names the file.
class HeaderReader {
 public:
  HeaderReader(const File& file, uint64_t file_size) : file_(file), file_size_(file_size) {}

  std::string text() {
    if (file_size_ < kLengthBytes)
      fail(fmt::format("expected at least 8 bytes of header length, found a file of {} bytes", file_size_));
    uint64_t length = 0;
    file_.read_at(0, &length, sizeof length);
    if (length > kMaxSafetensorsHeader)
      fail(fmt::format("its header claims {} bytes, the format allows {}; not a safetensors file?", length,
                       kMaxSafetensorsHeader));
    if (length > file_size_ - kLengthBytes)
      fail(fmt::format("its header claims {} bytes, but only {} follow; the file is cut", length,
                       file_size_ - kLengthBytes));
    if (length < 2) fail(fmt::format("its header claims {} bytes, expected a JSON object", length));
    std::string header(length, '\0');
    file_.read_at(kLengthBytes, header.data(), header.size());
    if (header.front() != '{')
      fail(fmt::format("expected its header to start with '{{', found byte {}",
                       static_cast<unsigned char>(header[0])));
    return header;
  }

  // nlohmann keeps the last of equal keys without a word; the callback sees them all.
  Json parse(const std::string& header) {
    std::set<std::string> names, fields;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth > 3) fail("its header is nested deeper than any tensor's entry");
      if (event == Json::parse_event_t::object_start) fields.clear();
      if (event == Json::parse_event_t::key) {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!(depth == 1 ? names : fields).insert(key).second)
          fail(fmt::format("its header names '{}' twice", key));
      }
      return true;
    };
    try {
      return Json::parse(header, watch);
    } catch (const Json::parse_error& error) {
      fail(fmt::format("its header is not valid JSON (at byte {} of {})", error.byte, header.size()));
    } catch (const Json::exception&) {
      fail("its header holds a number out of range");
    }
  }

  SafetensorsReader::Entry entry(const std::string& name, const Json& json) {
    if (!json.is_object()) fail(fmt::format("tensor '{}': expected an object", name));
    if (json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
        !json.contains("data_offsets"))
      fail(fmt::format("tensor '{}': expected exactly dtype, shape and data_offsets", name));
    SafetensorsReader::Entry entry;
    entry.name = name;
    if (!json["dtype"].is_string()) fail(fmt::format("tensor '{}': expected its dtype to be a name", name));
    entry.dtype = json["dtype"].get<std::string>();
    uint64_t bits = static_cast<uint64_t>(bits_of_safetensors_type(entry.dtype));
    if (bits == 0) fail(fmt::format("tensor '{}': unknown dtype '{}'", name, entry.dtype));

    const Json& shape = json["shape"];
    if (!shape.is_array()) fail(fmt::format("tensor '{}': expected its shape to be a list", name));
    for (const Json& size : shape) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()})
        fail(fmt::format("tensor '{}': expected whole sizes in its shape", name));
      entry.shape.push_back(size.get<int64_t>());
      if (__builtin_mul_overflow(bits, size.get<uint64_t>(), &bits))
        fail(fmt::format("tensor '{}': its shape has more bytes than can be counted", name));
    }
    if (bits % 8 != 0) fail(fmt::format("tensor '{}': its size is no whole number of bytes", name));

    const Json& offsets = json["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      fail(fmt::format("tensor '{}': expected data_offsets to be two whole numbers", name));
    entry.begin = offsets[0].get<uint64_t>();
    entry.end = offsets[1].get<uint64_t>();
    if (entry.end < entry.begin || entry.end - entry.begin != bits / 8)
      fail(fmt::format("tensor '{}': dtype and shape make {} bytes, its offsets {} to {} do not", name,
                       bits / 8, entry.begin, entry.end));
    return entry;
  }

  std::map<std::string, std::string> metadata(const Json& json) {
    std::map<std::string, std::string> result;
    if (!json.is_object()) fail("expected __metadata__ to be an object");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) fail(fmt::format("expected __metadata__ '{}' to be text", key));
      result[key] = value.get<std::string>();
    }
    return result;
  }

  // No holes, no overlap, and the last tensor ends the file.
  void check_places(const std::vector<SafetensorsReader::Entry>& entries, uint64_t data_bytes) {
    uint64_t reached = 0;
    for (const auto& entry : entries) {
      if (entry.begin != reached)
        fail(fmt::format("tensor '{}': expected to begin at {} where the one before ends, found {} ({})",
                         entry.name, reached, entry.begin, entry.begin < reached ? "an overlap" : "a hole"));
      reached = entry.end;
    }
    if (reached != data_bytes)
      fail(fmt::format("expected {} bytes of tensor data, found {} ({})", reached, data_bytes,
                       reached > data_bytes ? "the file is cut" : "trailing bytes"));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw DataError(file_.path().string() + ": " + why);
  }

  const File& file_;
  uint64_t file_size_;
};

}  // namespace

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : file_(File::open_to_read(path)) {
  const uint64_t file_size = file_.size();
  HeaderReader header(file_, file_size);
  const std::string text = header.text();
  const Json json = header.parse(text);
  data_start_ = kLengthBytes + text.size();
  data_bytes_ = file_size - data_start_;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      metadata_ = header.metadata(value);
    } else {
      entries_.push_back(header.entry(name, value));
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  header.check_places(entries_, data_bytes_);
}

const SafetensorsReader::Entry* SafetensorsReader::find(const std::string& name) const {
  for (const Entry& entry : entries_)
    if (entry.name == name) return &entry;
  return nullptr;
}

void SafetensorsReader::read(const Entry& entry, uint64_t at, void* data, size_t bytes) const {
  if (at > entry.end - entry.begin || bytes > entry.end - entry.begin - at)
    throw BugError(
        fmt::format("{}: {} bytes at {} leave tensor '{}'", path().string(), bytes, at, entry.name));
  read_data(entry.begin + at, data, bytes);
}

void SafetensorsReader::read_data(uint64_t at, void* data, size_t bytes) const {
  if (at > data_bytes_ || bytes > data_bytes_ - at)
    throw DataError(fmt::format("{}: expected {} bytes at data offset {}, found only {} bytes of data",
                                path().string(), bytes, at, data_bytes_));
  file_.read_at(data_start_ + at, data, bytes);
}

}  // namespace octant
