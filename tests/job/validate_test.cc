#include "job/validate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "test_specs.h"

namespace octant {
namespace {

TEST(Defaults, OfTheSmallSpec) {
  const Validation v = validate_small({});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  const Job& job = *v.job;
  EXPECT_EQ(job.output_dir, "runs/octant");
  EXPECT_EQ(job.checkpoint.dir, "runs/octant/checkpoints");
  EXPECT_EQ(job.parallel.ranks(), 1);
  EXPECT_EQ(job.parallel.pipeline_layers, std::vector<int64_t>{2});
  EXPECT_EQ(job.zero.stage, 0);
  EXPECT_TRUE(job.zero.overlap_comm);
  EXPECT_EQ(job.zero.reduce_every, ReduceEvery::kStep);
  EXPECT_EQ(job.precision.compute, DType::kF32);
  EXPECT_FALSE(job.precision.loss_scale.enabled);
  EXPECT_TRUE(job.model.tie_embeddings);
  EXPECT_EQ(job.model.norm_epsilon, 1e-5f);
  EXPECT_TRUE(job.training.fail_at_nan);
  EXPECT_EQ(job.learning_rate.decay_steps, 10);
  EXPECT_EQ(job.device.memory_limit, 0);
  EXPECT_EQ(job.transport, TransportKind::kAuto);
  EXPECT_EQ(job.batch.accumulation, 1);
  EXPECT_EQ(job.given.model().preset(), "tiny");
}

TEST(Defaults, ReduceEveryFollowsTheStage) {
  for (const int stage : {0, 1, 2, 3}) {
    const Validation v = validate_small({"zero_optimization.stage=" + std::to_string(stage)});
    ASSERT_TRUE(v.job);
    EXPECT_EQ(v.job->zero.reduce_every, stage >= 2 ? ReduceEvery::kMicroBatch : ReduceEvery::kStep);
  }
  const Validation v = validate_small({"zero_optimization.stage=3", "zero_optimization.reduce_every=STEP"});
  ASSERT_TRUE(v.job);
  EXPECT_EQ(v.job->zero.reduce_every, ReduceEvery::kStep);
}

TEST(Validate, ReportsEverythingAtOnce) {
  const Validation v =
      validate_small({"parallel.tensor=3", "training.steps=-1", "model.dropout=2", "checkpoint.keep=-1",
                      "batch.micro_batch_size=3", "device.memory_limit=lots"});
  EXPECT_EQ(v.errors.size(), 6u) << format_errors(v.errors);
  EXPECT_FALSE(v.job);
}

TEST(Validate, TensorErrorsNameOnlySizesThatWork) {
  for (int tensor = 1; tensor <= 8; ++tensor) {
    const bool good = errors_of({"model.hidden_size=96", "model.num_attention_heads=12",
                                 "model.num_kv_heads=6", "parallel.tensor=" + std::to_string(tensor)})
                          .empty();
    EXPECT_EQ(good, 6 % tensor == 0) << tensor;
  }
  EXPECT_NE(errors_of({"model.hidden_size=96", "model.num_attention_heads=12", "model.num_kv_heads=6",
                       "parallel.tensor=4"})
                .find("values that work for this model: 1, 2, 3, 6"),
            std::string::npos);
}

TEST(C15_C16_UnevenLayers, EverySplitSumsToTheModel) {
  for (int layers = 1; layers <= 9; ++layers) {
    for (int stages = 1; stages <= layers; ++stages) {
      const Validation v = validate_small(
          {"model.num_layers=" + std::to_string(layers), "parallel.pipeline=" + std::to_string(stages)});
      ASSERT_TRUE(v.job) << format_errors(v.errors);
      int64_t sum = 0;
      for (const int64_t n : v.job->parallel.pipeline_layers) {
        EXPECT_GE(n, 1);
        sum += n;
      }
      EXPECT_EQ(v.job->parallel.pipeline_layers.size(), static_cast<size_t>(stages));
      EXPECT_EQ(sum, layers);
    }
  }
}

TEST(C28_LearningRate, EdgeValues) {
  for (const char* warmup : {"0", "1", "9", "10"})
    EXPECT_EQ(errors_of({std::string("learning_rate_schedule.warmup_steps=") + warmup}), "");
  EXPECT_NE(errors_of({"learning_rate_schedule.warmup_steps=11"}).find("training.steps=10"),
            std::string::npos);
  EXPECT_NE(errors_of({"learning_rate_schedule.warmup_steps=-1"}).find("must be at least 0"),
            std::string::npos);
  EXPECT_EQ(errors_of({"training.steps=0"}), "");
  EXPECT_EQ(errors_of({"training.steps=1", "learning_rate_schedule.warmup_steps=1",
                       "learning_rate_schedule.decay=COSINE"}),
            "");
  EXPECT_EQ(
      errors_of({"learning_rate_schedule.min_learning_rate=1e-3", "learning_rate_schedule.decay=LINEAR"}),
      "");
  EXPECT_NE(errors_of({"learning_rate_schedule.min_learning_rate=2e-3"})
                .find("optimizer.adamw.learning_rate=0.001"),
            std::string::npos);
  EXPECT_NE(
      errors_of({"learning_rate_schedule.decay=COSINE", "learning_rate_schedule.decay_steps=0"}).find("is 0"),
      std::string::npos);
  EXPECT_EQ(errors_of({"learning_rate_schedule.decay=COSINE", "learning_rate_schedule.decay_steps=500"}), "");
}

TEST(C29_Notices, OptionsThatHaveNothingToDo) {
  const Validation v = validate_small(
      {"parallel.sequence_parallel=true", "zero_optimization.reduce_bucket_size=100",
       "zero_optimization.overlap_comm=true", "zero_optimization.stage=1", "parallel.schedule=GPIPE",
       "precision.loss_scale={initial: 4}", "precision.gradients=SAME_AS_COMPUTE",
       "zero_optimization.reshard_after_forward=NEVER", "zero_optimization.reduce_every=STEP",
       "model.rope_base=500", "device.progress_thread=ON"});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  const std::string notices = notices_of(v);
  for (const char* field :
       {"sequence_parallel has", "reduce_bucket_size has", "overlap_comm has", "stage=1 shards nothing",
        "schedule has", "loss_scale has", "SAME_AS_COMPUTE changes nothing", "reshard_after_forward has",
        "reduce_every has", "rope_base has", "progress_thread=ON has"})
    EXPECT_NE(notices.find(field), std::string::npos) << field << "\n" << notices;
  EXPECT_FALSE(v.job->parallel.sequence_parallel);
  EXPECT_EQ(v.job->precision.gradients, DType::kF32);
  EXPECT_FALSE(v.job->precision.loss_scale.enabled);
}

TEST(C29_Notices, NoneWhereEveryOptionWorks) {
  const Validation v =
      validate_small({"parallel.tensor=2", "parallel.data=2", "parallel.sequence_parallel=true",
                      "zero_optimization.reduce_bucket_size=100", "zero_optimization.stage=3",
                      "zero_optimization.reshard_after_forward=NEVER", "zero_optimization.reduce_every=STEP",
                      "zero_optimization.overlap_comm=true",
                      "batch={global_batch_size: 8 micro_batch_size: 2 gradient_accumulation_steps: 2}"});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  EXPECT_EQ(notices_of(v), "");
  EXPECT_TRUE(v.job->parallel.sequence_parallel);
}

TEST(C29_AllPairs, EveryCombinationIsAccepted) {
  for (const char* stage : {"0", "1", "2", "3"})
    for (const char* pipeline : {"1", "2"})
      for (const char* mode : {"NONE", "FULL"})
        for (const char* accumulation : {"1", "4"})
          for (const char* overlap : {"true", "false"})
            for (const char* tied : {"true", "false"})
              for (const char* preset : {"tiny", "llama-tiny"})
                EXPECT_EQ(errors_of({std::string("zero_optimization.stage=") + stage,
                                     std::string("parallel.pipeline=") + pipeline, "parallel.data=2",
                                     std::string("activation_checkpointing.mode=") + mode,
                                     std::string("batch.gradient_accumulation_steps=") + accumulation,
                                     std::string("zero_optimization.overlap_comm=") + overlap,
                                     std::string("model.tie_embeddings=") + tied,
                                     std::string("model.preset=") + preset}),
                          "");
}

TEST(C29_WeightsOnly, NeedsACheckpointToStartFrom) {
  EXPECT_NE(errors_of({"checkpoint.weights_only=true"}).find("resume_from"), std::string::npos);
  EXPECT_NE(errors_of({"checkpoint.weights_only=true", "checkpoint.resume=NEVER"})
                .find("checkpoint.resume is NEVER"),
            std::string::npos);
  EXPECT_EQ(errors_of({"checkpoint.weights_only=true", "checkpoint.resume=REQUIRED"}), "");
  const Validation v = validate_small({"checkpoint.weights_only=true", "checkpoint.resume_from=runs/a"});
  ASSERT_TRUE(v.job);
  EXPECT_TRUE(v.job->checkpoint.weights_only);
  EXPECT_EQ(v.job->checkpoint.resume_from, "runs/a");
}

TEST(Precision, F16HasALossScale) {
  const Validation v = validate_small({"precision.compute=F16", "precision.gradients=SAME_AS_COMPUTE"});
  ASSERT_TRUE(v.job) << format_errors(v.errors);
  EXPECT_TRUE(v.job->precision.loss_scale.enabled);
  EXPECT_EQ(v.job->precision.loss_scale.initial, 65536);
  EXPECT_EQ(v.job->precision.gradients, DType::kF16);
}

TEST(Size, UnitsAndNonsense) {
  EXPECT_EQ(parse_size("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(parse_size("512MiB"), int64_t{512} << 20);
  EXPECT_EQ(parse_size("1.5 KiB"), 1536);
  EXPECT_EQ(parse_size("3MB"), 3000000);
  EXPECT_EQ(parse_size("12345"), 12345);
  EXPECT_EQ(parse_size("none"), 0);
  for (const char* bad :
       {"lots", "-1", "2 gigs", "1e3", "inf", "nan", "GiB", "99999999TiB", "2GiB ", "2  GiB"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Sizes, HugeModelsAreRefusedAndNotCounted) {
  const std::string message = errors_of({"model.num_layers=2147483647", "model.hidden_size=500000000"});
  EXPECT_NE(message.find("past what 64 bits count"), std::string::npos) << message;
  EXPECT_NE(
      errors_of({"parallel.tensor=2147483647", "parallel.data=2147483647"}).find("more than 1048576 ranks"),
      std::string::npos);
  EXPECT_NE(errors_of({"model.num_layers=9000000000000000000"}).find("must be at most"), std::string::npos);
}

}  // namespace
}  // namespace octant
