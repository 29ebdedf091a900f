#include <gtest/gtest.h>

#include "test_specs.h"

namespace octant {
namespace {

TEST(Override, ScalarsEnumsListsAndStrings) {
  const Validation v = validate_small(
      {"model.num_layers=6", "parallel.pipeline=2", "parallel.pipeline_layers=[2,4]",
       "parallel.schedule=GPIPE", "output_dir=runs/a \"b\"", "optimizer.adamw.beta1=0.5",
       "zero_optimization.overlap_comm=false", "data.train[0].weight=0.25", "data.train[0].text.path=/x=y"});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  EXPECT_EQ(v.job->parallel.pipeline_layers, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(v.job->parallel.schedule, ScheduleKind::kGpipe);
  EXPECT_EQ(v.job->output_dir, "runs/a \"b\"");
  EXPECT_EQ(v.job->optimizer.beta1, 0.5);
  EXPECT_FALSE(v.job->zero.overlap_comm);
  EXPECT_EQ(v.job->data.train[0].weight, 0.25);
  EXPECT_EQ(v.job->data.train[0].path, "/x=y");
}

TEST(Override, AListWithoutBracketsReplacesTheOldOne) {
  const Validation v = validate_small({"model.num_layers=6", "parallel.pipeline=3",
                                       "parallel.pipeline_layers=[1,1,4]", "parallel.pipeline_layers=2,3,1"});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  EXPECT_EQ(v.job->parallel.pipeline_layers, (std::vector<int64_t>{2, 3, 1}));
}

TEST(Override, ABlockReplacesTheOldOne) {
  const Validation v =
      validate_small({"optimizer={sgd {learning_rate: 0.5}}",
                      "data.train=[{text {path: \"a\"}}, {indexed {prefix: \"b\"} weight: 2}]",
                      "data.train[0]={text {path: \"c\"}}"});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  EXPECT_EQ(v.job->optimizer.kind, OptimizerSettings::Kind::kSgd);
  EXPECT_EQ(v.job->learning_rate.peak, 0.5);
  ASSERT_EQ(v.job->data.train.size(), 2u);
  EXPECT_EQ(v.job->data.train[0].path, "c");
  EXPECT_EQ(v.job->data.train[1].kind, DataSource::Kind::kIndexed);
}

TEST(Override, LaterOnesWin) {
  const Validation v = validate_small({"training.steps=3", "training.steps=4"});
  ASSERT_TRUE(v.job);
  EXPECT_EQ(v.job->training.steps, 4);
}

TEST(Override, ErrorsNameTheOverrideTheRuleAndAFix) {
  EXPECT_EQ(errors_of({"model.num_layrs=3"}),
            "--set: model.num_layrs: unknown field 'num_layrs'; nearest name: num_layers");
  EXPECT_EQ(errors_of({"parallel.schedule=GPYPE"}).find("--set: parallel.schedule=GPYPE: "), 0u);
  EXPECT_NE(errors_of({"parallel.schedule=GPYPE"}).find("use GPIPE or ONE_F_ONE_B"), std::string::npos);
  EXPECT_NE(errors_of({"training.steps=ten"}).find("use a whole number"), std::string::npos);
  EXPECT_NE(errors_of({"training.steps="}).find("no value is given"), std::string::npos);
  EXPECT_NE(errors_of({"training.steps=1 eval_interval: 3"}).find("training.steps="), std::string::npos);
  EXPECT_NE(errors_of({"training=3"}).find("give a block"), std::string::npos);
  EXPECT_NE(errors_of({"training"}).find("'training' is not an assignment; write --set path.to.field=value"),
            std::string::npos);
  EXPECT_NE(errors_of({"training.steps.x=1"}).find("training.steps is a value, not a block"),
            std::string::npos);
  EXPECT_NE(errors_of({"data.train.weight=1"}).find("name the element: data.train[0]"), std::string::npos);
  EXPECT_NE(
      errors_of({"data.train[3].weight=1"}).find("data.train has 1 elements; use an index of at most 0"),
      std::string::npos);
  EXPECT_NE(errors_of({"data.train[x].weight=1"}).find("a bad index"), std::string::npos);
  EXPECT_NE(errors_of({"parallel.tensor[0]=1"}).find("tensor is not a list"), std::string::npos);
  EXPECT_NE(errors_of({"parallel.tensor=3000000000"}).find("--set: parallel.tensor=3000000000"),
            std::string::npos);
  EXPECT_NE(errors_of({"=3"}).find("is not an assignment"), std::string::npos);
}

TEST(Override, ARuleBrokenByAnOverrideSaysSo) {
  EXPECT_EQ(errors_of({"training.steps=-4"}),
            "--set: training.steps=-4: must be at least 0; use 200, or 0 to set up and stop");
}

}  // namespace
}  // namespace octant
