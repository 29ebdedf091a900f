// safetensors files: a length, a JSON header, the tensors' bytes. A streaming writer and a reader that trusts
// nothing.
//
//   SafetensorsWriter writer(path, {{"weight", "F32", {257, 64}}});
//   writer.write(0, 0, data, bytes);     // tensor 0, from its byte 0
//   writer.finish();                     // on disk when it returns
//
//   SafetensorsReader reader(path);      // DataError naming the file, what was expected and what was found
//   reader.read(*reader.find("weight"), 0, buffer, bytes);
//
// Format: 8 bytes little-endian header length N, N bytes of JSON, data; offsets count from the start of the
// data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/file_io.h"
#include "core/dtype.h"

namespace octant {

// The format's limit on the bytes of a header.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

struct TensorLayout {
  std::string name;
  std::string dtype;  // as the file spells it: "F32", "BF16", …
  std::vector<int64_t> shape;
};

// Bits of one element; 0 for a type that the format does not have.
int bits_of_safetensors_type(const std::string& dtype);
std::string safetensors_name_of(DType dtype);
// Empty where Octant has no such type.
std::optional<DType> dtype_of_safetensors_name(const std::string& dtype);

class SafetensorsWriter {
 public:
  // Writes the header; places are decided here: by alignment of the type, largest first, then by name. Names
  // are unique and the sizes final. Each tensor's bytes must then be written, in any order.
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<TensorLayout>& tensors,
                    const std::map<std::string, std::string>& metadata = {});
  // Where tensor `index` (of the constructor's list) begins, in bytes from the start of the data.
  uint64_t data_offset(size_t index) const { return offsets_[index]; }
  // Bytes of the finished file.
  uint64_t file_size() const { return data_start_ + data_bytes_; }
  void write(size_t index, uint64_t at, const void* data, size_t bytes);
  void finish();

 private:
  File file_;
  std::vector<uint64_t> offsets_;  // by index in the constructor's list
  uint64_t data_start_ = 0;
  uint64_t data_bytes_ = 0;
};

class SafetensorsReader {
 public:
  struct Entry {
    std::string name;
    std::string dtype;
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;  // bytes from the start of the data
  };

  // Checks the whole header; nothing larger than the header itself is ever allocated, and that only after its
  // length is known to fit the file and the format's limit of 100,000,000 bytes.
  explicit SafetensorsReader(const std::filesystem::path& path);
  const std::vector<Entry>& entries() const { return entries_; }  // by offset
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const Entry* find(const std::string& name) const;
  // Bytes [at, at + bytes) of the entry.
  void read(const Entry& entry, uint64_t at, void* data, size_t bytes) const;
  // The same from the start of all data, for those who keep offsets themselves.
  void read_data(uint64_t at, void* data, size_t bytes) const;
  uint64_t data_bytes() const { return data_bytes_; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  File file_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
  uint64_t data_start_ = 0;
  uint64_t data_bytes_ = 0;
};

}  // namespace octant
