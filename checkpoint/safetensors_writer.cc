#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>

#include "checkpoint/safetensors.h"
#include "core/error.h"

namespace octant {
namespace {

struct TypeBits {
  std::string_view name;
  int bits;
};
constexpr std::array<TypeBits, 22> kTypes{
    {{"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"BOOL", 8},        {"U8", 8},          {"I8", 8},
     {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
     {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
     {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}}};

// A header is padded so that the data starts on a multiple of this.
constexpr uint64_t kHeaderAlignment = 8;

uint64_t bytes_of(const TensorLayout& tensor) {
  uint64_t bits = static_cast<uint64_t>(bits_of_safetensors_type(tensor.dtype));
  if (bits == 0)
    throw BugError(fmt::format("safetensors has no type '{}' (tensor {})", tensor.dtype, tensor.name));
  for (int64_t size : tensor.shape)
    if (size < 0 || __builtin_mul_overflow(bits, static_cast<uint64_t>(size), &bits))
      throw BugError(fmt::format("tensor {}: impossible size {}", tensor.name, size));
  if (bits % 8 != 0)
    throw BugError(fmt::format("tensor {}: its size is no whole number of bytes", tensor.name));
  return bits / 8;
}

}  // namespace

int bits_of_safetensors_type(const std::string& dtype) {
  for (const TypeBits& type : kTypes)
    if (type.name == dtype) return type.bits;
  return 0;
}

std::string safetensors_name_of(DType dtype) {
  std::string name(name_of(dtype));
  for (char& letter : name)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return name;
}

std::optional<DType> dtype_of_safetensors_name(const std::string& dtype) {
  for (DType known :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI32, DType::kI64, DType::kU8})
    if (safetensors_name_of(known) == dtype) return known;
  return std::nullopt;
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<TensorLayout>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(File::create(path)), offsets_(tensors.size()) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int a_bits = bits_of_safetensors_type(tensors[a].dtype),
              b_bits = bits_of_safetensors_type(tensors[b].dtype);
    return a_bits != b_bits ? a_bits > b_bits : tensors[a].name < tensors[b].name;
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string_view> names{"__metadata__"};
  for (size_t index : order) {
    const TensorLayout& tensor = tensors[index];
    if (!names.insert(tensor.name).second)
      throw BugError("safetensors: two tensors are named " + tensor.name);
    offsets_[index] = data_bytes_;
    data_bytes_ += bytes_of(tensor);
    // push_back, since operator[] of an ordered object searches all names before it.
    nlohmann::ordered_json entry = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offsets_[index], data_bytes_}}};
    header.get_ref<nlohmann::ordered_json::object_t&>().push_back({tensor.name, std::move(entry)});
  }
  std::string text = header.dump();
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  if (text.size() > kMaxSafetensorsHeader)
    throw DataError(fmt::format("{}: a header of {} bytes for {} tensors; the format allows {}",
                                path.string(), text.size(), tensors.size(), kMaxSafetensorsHeader));
  const uint64_t length = text.size();
  file_.write_at(0, &length, sizeof length);
  file_.write_at(sizeof length, text.data(), text.size());
  data_start_ = sizeof length + length;
}

void SafetensorsWriter::write(size_t index, uint64_t at, const void* data, size_t bytes) {
  file_.write_at(data_start_ + offsets_[index] + at, data, bytes);
}

void SafetensorsWriter::finish() {
  if (file_.size() != file_size())
    throw BugError(
        fmt::format("{}: {} of {} bytes were written", file_.path().string(), file_.size(), file_size()));
  file_.sync();
}

}  // namespace octant
