// Fuzzes the reader of manifests: it either refuses the bytes or gives a manifest of which every slice lies
// within its tensor and its file. Every input is tried twice: as the file itself, where the checksum stops
// nearly all, and sealed with the right checksum.
#include <google/protobuf/stubs/logging.h>

#include <cstdlib>
#include <string_view>

#include "checkpoint/checksum.h"
#include "checkpoint/manifest.h"
#include "core/error.h"
#include "tests/fuzz/fuzz.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const octant::stored::Manifest& manifest) {
  for (const octant::stored::Tensor& tensor : manifest.tensors()) {
    const octant::Shape shape = octant::shape_of(tensor);
    require(octant::find_tensor(manifest, tensor.name(), tensor.kind()) == &tensor);
    for (const octant::stored::Slice& slice : tensor.slices()) {
      const octant::SliceRange range = octant::range_of(slice);
      require(octant::fault_of(range, shape).empty());
      require(slice.file() < static_cast<uint32_t>(manifest.files_size()));
      const uint64_t size = manifest.files(static_cast<int>(slice.file())).size();
      require(slice.data_offset() <= size);
      require(static_cast<uint64_t>(range.count()) <= (size - slice.data_offset()) / 4);
      int64_t met = 0;
      octant::for_each_run(range, range, [&](int64_t target, int64_t source, int64_t count) {
        require(target == source && target == met && count > 0);
        met += count;
      });
      require(met == range.count());
    }
  }
}

void parse(std::string_view content) {
  try {
    check(octant::parse_manifest(content, "manifest.pb"));
  } catch (const octant::DataError&) {
    // Refused, as most inputs are.
  }
}

void add_tensor(octant::stored::Manifest& manifest, const char* name, octant::stored::TensorKind kind,
                const std::vector<int64_t>& shape, uint64_t at) {
  octant::stored::Tensor& tensor = *manifest.add_tensors();
  tensor.set_name(name);
  tensor.set_kind(kind);
  tensor.set_type(octant::stored::F32);
  octant::stored::Slice& slice = *tensor.add_slices();
  int64_t elements = 1;
  for (int64_t size : shape) {
    tensor.add_shape(size);
    slice.add_box_offset(0);
    slice.add_box_size(size);
    elements *= size;
  }
  slice.set_data_offset(at);
  slice.set_end(elements);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer quiet;  // it reports every text that is not UTF-8
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parse(bytes);
  octant::stored::ManifestFile sealed;
  sealed.set_manifest(data, size);
  sealed.set_checksum(octant::checksum_of(data, size));
  parse(sealed.SerializeAsString());
  return 0;
}

std::vector<std::vector<uint8_t>> octant::fuzz::valid_inputs() {
  stored::Manifest manifest;
  manifest.set_format_version(kManifestVersion);
  manifest.set_checksum_algorithm(std::string(kChecksumAlgorithm));
  manifest.set_step(100);
  manifest.set_job_spec("name: \"fuzzed\"");
  manifest.mutable_optimizer()->set_kind("adamw");
  stored::File& file = *manifest.add_files();
  file.set_name("rank_00000.safetensors");
  file.set_size(4096);
  const std::string empty = manifest.SerializeAsString();
  add_tensor(manifest, "a.weight", stored::WEIGHT, {7, 5}, 0);
  add_tensor(manifest, "a.weight", stored::EXP_AVG, {2, 3, 4, 5}, 256);
  add_tensor(manifest, "scalar", stored::WEIGHT, {}, 1024);
  const std::string full = manifest.SerializeAsString(), file_content = serialize_manifest(manifest);
  return {
      {empty.begin(), empty.end()}, {full.begin(), full.end()}, {file_content.begin(), file_content.end()}};
}
