#include "job/batch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

#include "core/error.h"
#include "test_specs.h"

namespace octant {
namespace {

BatchPlan solve(const BatchRequest& request, int64_t data) {
  const BatchResult result = solve_batch(request, data);
  EXPECT_TRUE(result.plan) << result.rule;
  return result.plan.value_or(BatchPlan{});
}

TEST(Batch, AnyMissingNumberIsDerived) {
  for (const int64_t data : {1, 2, 3, 7}) {
    for (const int64_t micro : {1, 3, 4}) {
      for (const int64_t accumulation : {1, 2, 5}) {
        const int64_t global = micro * accumulation * data;
        for (const BatchRequest& request :
             {BatchRequest{global, micro, accumulation}, BatchRequest{std::nullopt, micro, accumulation},
              BatchRequest{global, std::nullopt, accumulation}, BatchRequest{global, micro, std::nullopt}}) {
          const BatchPlan plan = solve(request, data);
          EXPECT_EQ(plan.global, global);
          EXPECT_EQ(plan.micro, micro);
          EXPECT_EQ(plan.accumulation, accumulation);
        }
      }
    }
  }
}

TEST(Batch, OnlyOneNumber) {
  EXPECT_EQ(solve({.global = 12}, 3).micro, 4);
  EXPECT_EQ(solve({.global = 12}, 3).accumulation, 1);
  EXPECT_EQ(solve({.micro = 5}, 3).global, 15);
  EXPECT_FALSE(solve_batch({.accumulation = 2}, 1).plan);
  EXPECT_FALSE(solve_batch({}, 1).plan);
}

TEST(Batch, NumbersPast64BitsAreRefused) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_FALSE(solve_batch({.micro = big, .accumulation = big}, 2).plan);
  EXPECT_FALSE(solve_batch({.global = 8, .micro = big, .accumulation = big}, 2).plan);
  EXPECT_FALSE(solve_batch({.global = 8, .micro = INT64_MAX}, 2).plan);
}

// Every setting that an error offers must work.
TEST(Batch, FixesWork) {
  for (int64_t global = 1; global <= 24; ++global) {
    for (int64_t micro = 1; micro <= 4; ++micro) {
      for (const int64_t data : {1, 2, 3}) {
        const BatchResult result = solve_batch({.global = global, .micro = micro}, data);
        if (result.plan) continue;
        long long g = 0, m = 0, a = 0;
        ASSERT_EQ(
            std::sscanf(result.fix.c_str(),
                        "use global_batch_size=%lld micro_batch_size=%lld gradient_accumulation_steps=%lld",
                        &g, &m, &a),
            3)
            << result.fix;
        EXPECT_TRUE(solve_batch({.global = g, .micro = m, .accumulation = a}, data).plan) << result.fix;
      }
    }
  }
}

TEST(C24_BatchArithmetic, AllNumbersWithTheirNames) {
  const std::string message = errors_of({"parallel.tensor=2", "batch.global_batch_size=10",
                                         "batch.micro_batch_size=2", "batch.gradient_accumulation_steps=3"},
                                        4);
  for (const char* part :
       {"global_batch_size=10", "micro_batch_size=2", "gradient_accumulation_steps=3", "parallel.data=2",
        "data=2 is ranks 4 / (tensor 2 × pipeline 1)", "use global_batch_size=12"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
}

TEST(C24_BatchArithmetic, TheMissingNumberIsDerivedAndSaid) {
  Validation v =
      validate_small({"parallel.tensor=2", "batch.global_batch_size=24", "batch.micro_batch_size=3"}, 4);
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  EXPECT_NE(notices_of(v).find("batch.gradient_accumulation_steps=4 (global 24 / (micro 3 × data 2))"),
            std::string::npos);
  EXPECT_NE(effective_spec_text(*v.job).find("gradient_accumulation_steps: 4"), std::string::npos);
  v = validate_small({"parallel.tensor=2", "batch.global_batch_size=24"}, 4);
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  EXPECT_EQ(v.job->batch.micro, 12);
  EXPECT_NE(effective_spec_text(*v.job).find("micro_batch_size: 12"), std::string::npos);
}

TEST(C24_World, NeededAndStartedRanksAreBothNamed) {
  const Validation v = validate_small({"parallel.data=2", "parallel.tensor=2", "parallel.pipeline=2"});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  check_world(*v.job, 8);
  for (const int started : {4, 5}) {
    try {
      check_world(*v.job, started);
      FAIL() << started;
    } catch (const UserError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("needs 8 ranks"), std::string::npos) << message;
      EXPECT_NE(message.find(std::to_string(started) + " were started"), std::string::npos) << message;
    }
  }
}

TEST(C24_World, DataFollowsFromTheRanksWhereItIsNotGiven) {
  EXPECT_EQ(validate_small({"parallel.tensor=2"}, 8).job->parallel.data, 4);
  EXPECT_EQ(validate_small({"parallel.tensor=2"}).job->parallel.data, 1);
  const Validation v = validate_small({"parallel.tensor=2"}, 5);
  ASSERT_TRUE(v.job);
  EXPECT_THROW(check_world(*v.job, 5), UserError);
}

}  // namespace
}  // namespace octant
