#include "checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "tests/checkpoint/simulated_job.h"
#include "tests/checkpoint/temp_folder.h"

namespace octant {
namespace {

TEST(Manifest, RoundTrip) {
  TempFolder temp;
  const auto folder = save_simulated(temp.path(), 7, {2, 2, 1});
  stored::Manifest manifest = read_manifest(folder);
  EXPECT_EQ(manifest.step(), 7u);
  EXPECT_EQ(manifest.seed(), 1234u);
  EXPECT_EQ(manifest.job_spec(), "name: \"simulated\"");
  EXPECT_FALSE(manifest.has_loss_scale());
  manifest.mutable_loss_scale()->set_scale(32768);
  write_manifest(manifest, folder);
  EXPECT_EQ(read_manifest(folder).loss_scale().scale(), 32768);
  EXPECT_EQ(find_tensor(manifest, "h.1.gain", stored::EXP_AVG)->shape_size(), 0);
  EXPECT_EQ(find_tensor(manifest, "h.1.gain.", stored::EXP_AVG), nullptr);
}

TEST(Manifest, UnsoundOnesAreRefusedByName) {
  TempFolder temp;
  const stored::Manifest good = read_manifest(save_simulated(temp.path(), 7, {2, 1, 1}));
  struct Case {
    const char* said;
    std::function<void(stored::Manifest&)> harm;
  };
  const auto slice = [](stored::Manifest& m) { return m.mutable_tensors(0)->mutable_slices(0); };
  const std::vector<Case> cases = {
      {"format version 2", [](auto& m) { m.set_format_version(2); }},
      {"checksum algorithm 'md5'", [](auto& m) { m.set_checksum_algorithm("md5"); }},
      {"'../evil' is not a plain name", [](auto& m) { m.mutable_files(0)->set_name("../evil"); }},
      {"file 'rank_00001.safetensors' twice",
       [](auto& m) { m.mutable_files(0)->set_name("rank_00001.safetensors"); }},
      {"lists itself", [](auto& m) { m.mutable_files(0)->set_name("manifest.pb"); }},
      {"no name", [](auto& m) { m.mutable_tensors(0)->clear_name(); }},
      {"unknown kind", [](auto& m) { m.mutable_tensors(0)->set_kind(stored::TENSOR_KIND_NONE); }},
      {"unknown element type", [](auto& m) { m.mutable_tensors(0)->clear_type(); }},
      {"5 dims",
       [](auto& m) {
         for (int i = 0; i < 5; ++i) m.mutable_tensors(0)->add_shape(1);
         m.mutable_tensors(0)->mutable_shape()->Truncate(5);
       }},
      {"impossible size", [](auto& m) { m.mutable_tensors(0)->set_shape(0, int64_t{1} << 62); }},
      {"file number 9 of 2", [&](auto& m) { slice(m)->set_file(9); }},
      {"a slice of size -1", [&](auto& m) { slice(m)->set_box_size(0, -1); }},
      {"leaves dim 0", [&](auto& m) { slice(m)->set_box_offset(0, 1); }},
      {"flat range", [&](auto& m) { slice(m)->set_end(slice(m)->end() + (int64_t{1} << 40)); }},
      {"which has only", [&](auto& m) { slice(m)->set_data_offset(~uint64_t{0}); }},
      {"unique and sorted", [](auto& m) { m.mutable_tensors()->SwapElements(0, 1); }},
      {"unique and sorted", [](auto& m) { *m.mutable_tensors(1) = m.tensors(0); }},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.said);
    stored::Manifest manifest = good;
    bad.harm(manifest);
    try {
      parse_manifest(serialize_manifest(manifest), "folder/manifest.pb");
      ADD_FAILURE() << "accepted";
    } catch (const DataError& error) {
      expect_says(error.what(), {"folder/manifest.pb", bad.said});
    }
    EXPECT_THROW(write_manifest(manifest, temp.path()), BugError);
  }
}

TEST(Manifest, ForeignContentIsRefused) {
  for (const std::string& content :
       {std::string("{}"), std::string(100, '\xff'), std::string("hello world, this is text"), std::string()})
    EXPECT_THROW(parse_manifest(content, "m"), DataError);
}

}  // namespace
}  // namespace octant
