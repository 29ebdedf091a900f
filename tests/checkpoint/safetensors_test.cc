#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/error.h"
#include "tests/checkpoint/temp_folder.h"

namespace octant {
namespace {

std::string with_length(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + data;
}

TEST(Safetensors, RoundTrip) {
  TempFolder temp;
  const auto path = temp.path() / "a.safetensors";
  const std::vector<float> matrix{1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> bytes{7, 8, 9};
  const double scalar = 2.5;
  SafetensorsWriter writer(
      path, {{"b", "U8", {3}}, {"m", "F32", {2, 3}}, {"none", "F32", {0, 5}}, {"s", "F64", {}}},
      {{"format", "test \"quoted\""}});
  writer.write(1, 12, matrix.data() + 3, 12);  // in any order, in parts
  writer.write(1, 0, matrix.data(), 12);
  writer.write(0, 0, bytes.data(), 3);
  writer.write(3, 0, &scalar, 8);
  writer.finish();
  EXPECT_EQ(std::filesystem::file_size(path), writer.file_size());

  const SafetensorsReader reader(path);
  ASSERT_EQ(reader.entries().size(), 4u);
  EXPECT_EQ(reader.entries()[0].name, "s");  // widest type first, then by name
  EXPECT_EQ(reader.entries()[1].name, "m");
  EXPECT_EQ(reader.entries()[2].name, "none");
  EXPECT_EQ(reader.entries()[3].name, "b");
  EXPECT_EQ(reader.metadata().at("format"), "test \"quoted\"");
  EXPECT_EQ(reader.find("m")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(writer.data_offset(1), reader.find("m")->begin);
  std::vector<float> found(6);
  reader.read(*reader.find("m"), 0, found.data(), 24);
  EXPECT_EQ(found, matrix);
  float middle = 0;
  reader.read(*reader.find("m"), 8, &middle, 4);
  EXPECT_EQ(middle, 3);
  EXPECT_EQ(reader.find("x"), nullptr);
  EXPECT_THROW(reader.read(*reader.find("m"), 8, found.data(), 24), BugError);
  uint64_t length = 0;
  std::memcpy(&length, file_content(path).data(), 8);
  EXPECT_EQ(length % 8, 0u);
}

TEST(Safetensors, NoTensorsIsAFile) {
  TempFolder temp;
  SafetensorsWriter(temp.path() / "a", {}).finish();
  EXPECT_TRUE(SafetensorsReader(temp.path() / "a").entries().empty());
}

TEST(Safetensors, WriterMistakesAreBugs) {
  TempFolder temp;
  const auto path = temp.path() / "a";
  using Layouts = std::vector<TensorLayout>;
  EXPECT_THROW(SafetensorsWriter(path, Layouts{{"a", "F32", {1}}, {"a", "F32", {1}}}), BugError);
  EXPECT_THROW(SafetensorsWriter(path, Layouts{{"a", "F33", {1}}}), BugError);
  EXPECT_THROW(SafetensorsWriter(path, Layouts{{"a", "F4", {3}}}), BugError);
  EXPECT_THROW(SafetensorsWriter(path, Layouts{{"__metadata__", "F32", {1}}}), BugError);
  SafetensorsWriter half(path, Layouts{{"a", "F32", {2}}});
  half.write(0, 0, "1234", 4);
  EXPECT_THROW(half.finish(), BugError);
}

TEST(Safetensors, TypesMapBothWays) {
  for (DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI32, DType::kI64, DType::kU8}) {
    EXPECT_EQ(dtype_of_safetensors_name(safetensors_name_of(dtype)), dtype);
    EXPECT_EQ(bits_of_safetensors_type(safetensors_name_of(dtype)), 8 * size_of(dtype));
  }
  EXPECT_EQ(dtype_of_safetensors_name("F8_E4M3"), std::nullopt);
}

struct Bad {
  const char* what;
  std::string content;
  const char* said;
};

std::string entry(const std::string& fields, const std::string& data = std::string(8, 'x')) {
  return with_length("{\"t\":{" + fields + "}}", data);
}

std::vector<Bad> malformed() {
  const std::string two_floats = "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]";
  const std::string good = entry(two_floats);
  std::string huge = good, zero = good, past = good;
  huge[7] = 0x10;  // 2^60
  std::memset(zero.data(), 0, 8);
  past[0] = static_cast<char>(past[0] + 100);
  const auto pair = [](const std::string& a, const std::string& b, size_t bytes) {
    return with_length("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" + a +
                           "},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" + b + "}}",
                       std::string(bytes, 'x'));
  };
  return {
      {"empty file", "", "at least 8 bytes"},
      {"seven bytes", good.substr(0, 7), "at least 8 bytes"},
      {"length 2^60", huge, "claims 1152921504606"},
      {"length 0", zero, "claims 0 bytes"},
      {"length past the end", past, "the file is cut"},
      {"header cut", with_length("{\"t\":{\"dtype\":\"F32\"", ""), "not valid JSON"},
      {"not an object", with_length("[1,2]", ""), "to start with"},
      {"leading space", with_length(" {}", ""), "to start with"},
      {"junk behind the object", with_length("{} x", ""), "not valid JSON"},
      {"invalid UTF-8", with_length("{\"\xff\":1}", ""), "not valid JSON"},
      {"data cut by one", good.substr(0, good.size() - 1), "expected 8 bytes of tensor data, found 7"},
      {"trailing byte", good + "x", "trailing bytes"},
      {"overlap", pair("[0,8]", "[4,12]", 12), "an overlap"},
      {"hole", pair("[0,8]", "[12,20]", 20), "a hole"},
      {"same place twice", pair("[0,8]", "[0,8]", 8), "an overlap"},
      {"hole at the start", pair("[4,12]", "[12,20]", 20), "a hole"},
      {"offset past the end", pair("[0,8]", "[8,16]", 8), "expected 16 bytes of tensor data, found 8"},
      {"unknown dtype", entry("\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]"),
       "unknown dtype 'F33'"},
      {"dtype a number", entry("\"dtype\":32,\"shape\":[2],\"data_offsets\":[0,8]"), "dtype"},
      {"size mismatch", entry("\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]"), "make 12 bytes"},
      {"reversed offsets", entry("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]"),
       "its offsets 8 to 0"},
      {"three offsets", entry("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]"),
       "two whole numbers"},
      {"negative offset", entry("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]"),
       "two whole numbers"},
      {"float offset", entry("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0.0,8]"),
       "two whole numbers"},
      {"negative size", entry("\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]"), "whole sizes"},
      {"shape a number", entry("\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]"), "a list"},
      {"overflowing shape",
       entry("\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]"), "can be counted"},
      {"huge number", entry("\"dtype\":\"F32\",\"shape\":[99999999999999999999999],\"data_offsets\":[0,8]"),
       "whole sizes"},
      {"half a byte", entry("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,8]"),
       "whole number of bytes"},
      {"missing field", entry("\"dtype\":\"F32\",\"shape\":[2]"), "exactly dtype, shape and data_offsets"},
      {"additional field", entry(two_floats + ",\"x\":1"), "exactly dtype, shape and data_offsets"},
      {"field twice", entry(two_floats + ",\"shape\":[2]"), "'shape' twice"},
      {"tensor twice", with_length("{\"t\":{" + two_floats + "},\"t\":{" + two_floats + "}}", "12345678"),
       "'t' twice"},
      {"entry a list", with_length("{\"t\":[1]}", ""), "expected an object"},
      {"metadata not text", with_length("{\"__metadata__\":{\"a\":1}}", ""), "to be text"},
      {"metadata a list", with_length("{\"__metadata__\":[]}", ""), "to be an object"},
      {"nested without end", with_length("{\"a\":" + std::string(200000, '['), ""), "nested deeper"},
  };
}

TEST(C19_Safetensors, MalformedFilesAreRefusedByName) {
  TempFolder temp;
  const auto path = temp.path() / "bad.safetensors";
  for (const Bad& bad : malformed()) {
    SCOPED_TRACE(bad.what);
    put_file(path, bad.content);
    try {
      SafetensorsReader reader(path);
      ADD_FAILURE() << "accepted";
    } catch (const DataError& error) {
      expect_says(error.what(), {path.string(), bad.said});
      EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos);
    }
  }
}

TEST(C19_Safetensors, MissingFilesAndFoldersAreRefused) {
  TempFolder temp;
  EXPECT_THROW(SafetensorsReader(temp.path() / "none"), DataError);
  EXPECT_THROW(SafetensorsReader(temp.path()), DataError);
}

TEST(Safetensors, PaddedHeadersAndSixBitTypesAreFine) {
  TempFolder temp;
  put_file(temp.path() / "a",
           with_length("{\"t\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}      ", "xyz"));
  EXPECT_EQ(SafetensorsReader(temp.path() / "a").entries().size(), 1u);
}

// A tensor of more than 2^31 bytes, as a sparse file: offsets must be 64-bit throughout.
TEST(C42_BigFiles, OffsetsBeyondTwoGiB) {
  TempFolder temp;
  const auto path = temp.path() / "big";
  const int64_t elements = (int64_t{1} << 29) + 5;
  SafetensorsWriter writer(path, {{"big", "F32", {elements}}});
  const float last = 42;
  writer.write(0, static_cast<uint64_t>(elements - 1) * 4, &last, 4);
  writer.finish();
  const SafetensorsReader reader(path);
  float found[2] = {-1, -1};
  reader.read(reader.entries()[0], static_cast<uint64_t>(elements - 2) * 4, found, 8);
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 42);
}

}  // namespace
}  // namespace octant
