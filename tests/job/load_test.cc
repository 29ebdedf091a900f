#include "job/load.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "job/field_names.h"
#include "test_specs.h"

namespace octant {
namespace {

TEST(LoadText, PlacesAreThoseAnEditorShows) {
  const LoadedSpec loaded = parse_spec_text(
      "model {\n\t\tnum_layers: 2\n}\ndata {\n  train { weight: 1 }\n  train { weight: 2 }\n}\n", "a");
  EXPECT_EQ(loaded.place_of("model.num_layers"), "a:2:3");  // a tab is one byte
  EXPECT_EQ(loaded.place_of("data.train[1].weight"), "a:6:11");
  EXPECT_EQ(loaded.place_of("data.train[1].text.path"), "a:6:3");
  EXPECT_EQ(loaded.place_of("parallel.tensor"), "a");
}

TEST(C23_MisspeltFields, AllAreReportedWithTheirPlaces) {
  const LoadedSpec loaded = parse_spec_text(
      "nmae: \"x\"\nmodel { num_layrs: 3 hiden_size { a: 1 } }\nfoo { model { x: 1 } }\n", "a");
  ASSERT_EQ(loaded.errors.size(), 4u) << format_errors(loaded.errors);
  EXPECT_EQ(format_error(loaded.errors[0]), "a:1:1: nmae: unknown field; nearest name: name");
  EXPECT_EQ(format_error(loaded.errors[1]),
            "a:2:9: model.num_layrs: unknown field; nearest name: num_layers");
  EXPECT_EQ(format_error(loaded.errors[2]),
            "a:2:22: model.hiden_size: unknown field; nearest name: hidden_size");
  EXPECT_EQ(loaded.errors[3].place, "a:3:1");
  EXPECT_TRUE(loaded.complete);
}

TEST(C23_MisspeltFields, NothingIsPrinted) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  parse_spec_text("nmae: \"x\" model { x: ", "a");
  parse_spec_json("{\"nmae\": 3, \"model\": {\"num_layers\": \"two\"}}", "a");
  LoadedSpec loaded = parse_spec_text("", "a");
  apply_override("model.num_layers=two", loaded);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(LoadText, OddInputEndsInAnError) {
  for (const char* text : {"{",
                           "}",
                           "model",
                           "model {",
                           "model: 3",
                           "model { num_layers: }",
                           "model { num_layers }",
                           ":",
                           "\"",
                           "'",
                           "[",
                           "model { num_layers: [1, 2] }",
                           "a: [",
                           "parallel { pipeline_layers: [1, \"x\"] }",
                           "\xff\xfe",
                           "model < num_layers: 2 }",
                           "data { train [ { weight: 1 } ",
                           "#",
                           "\n\n model {\n \"",
                           "name: \"\xff\""}) {
    const Validation v = validate(parse_spec_text(text, "a"));
    EXPECT_FALSE(v.job) << text;
    EXPECT_FALSE(v.errors.empty()) << text;
  }
}

TEST(LoadText, DeepNestingEndsInAnError) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "model {";
  EXPECT_FALSE(parse_spec_text(text, "a").errors.empty());
}

TEST(LoadJson, TheSameJobAsText) {
  const LoadedSpec json = parse_spec_json(
      R"({"model": {"preset": "tiny"}, "data": {"train": [{"text": {"path": "corpus.txt"}}]},
          "batch": {"global_batch_size": 8}, "optimizer": {"adamw": {"learningRate": 0.001}}, "training": {"steps": "10"},
          "parallel": {"schedule": "GPIPE"}})",
      "small.json");
  const Validation a = validate(json), b = validate_small({"parallel.schedule=GPIPE"});
  ASSERT_TRUE(a.job) << format_errors(a.errors);
  EXPECT_EQ(effective_spec_text(*a.job), effective_spec_text(*b.job));
}

TEST(LoadJson, RulesNameTheFieldPath) {
  const Validation v =
      validate(parse_spec_json(R"({"model": {"preset": "tiny"}, "parallel": {"tensor": 3}})", "small.json"));
  EXPECT_NE(format_errors(v.errors).find("small.json: parallel.tensor=3: does not divide"), std::string::npos)
      << format_errors(v.errors);
}

TEST(LoadFile, MissingFileAndFolder) {
  EXPECT_NE(format_errors(load_spec("/nowhere/job.pbtxt").errors).find("No such file"), std::string::npos);
  EXPECT_FALSE(load_spec("/").errors.empty());
  try {
    load_job("/nowhere/job.pbtxt");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
  }
}

TEST(LoadFile, AnEmptyFileLacksEverything) {
  const auto path = std::filesystem::path(testing::TempDir()) / "octant_empty_job.pbtxt";
  std::ofstream(path).close();
  const Validation v = validate(load_spec(path.string()));
  EXPECT_NE(format_errors(v.errors).find("model.num_layers: is required"), std::string::npos)
      << format_errors(v.errors);
  std::filesystem::remove(path);
}

TEST(FieldNames, EditDistance) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("bacth", "batch"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_FALSE(nearest_word("zzzzzz", {"name", "seed"}));
}

TEST(FormatErrors, OneParagraphEach) {
  EXPECT_EQ(format_errors({}), "");
  EXPECT_EQ(format_errors({{"a:1:2", "b.c", "3", "is wrong", "use 4"}}), "a:1:2: b.c=3: is wrong; use 4");
  EXPECT_EQ(format_errors({{"a", "", "", "x", ""}, {"b", "", "", "y", ""}}),
            "a: x\n\nb: y\n\n2 errors in the job spec");
}

}  // namespace
}  // namespace octant
