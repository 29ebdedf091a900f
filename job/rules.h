// The rules of the job spec, one function a block. Each reads the effective spec, reports what breaks it and
// guards against values that another rule has already refused. None of them opens a file.
#pragma once

#include "job/batch.h"
#include "job/report.h"
#include "models/config.h"
#include "proto/job.pb.h"

namespace octant {

// Of every block: known words that are built, finite numbers.
void check_values(const spec::Job& job, SpecReport& report);
// Whole blocks and lists of later issues.
void check_unbuilt(const spec::Job& job, SpecReport& report);

void check_model(const spec::Job& job, SpecReport& report);
void check_parallel(const spec::Job& job, SpecReport& report);
void check_batch(const spec::Job& job, SpecReport& report, std::optional<BatchPlan>& plan);
void check_zero(const spec::Job& job, const std::optional<BatchPlan>& plan, SpecReport& report);
void check_data(const spec::Job& job, SpecReport& report);
void check_precision(const spec::Job& job, SpecReport& report);
void check_optimizer(const spec::Job& job, SpecReport& report);
void check_schedule(const spec::Job& job, SpecReport& report);
void check_training(const spec::Job& job, SpecReport& report);
void check_checkpoint(const spec::Job& job, SpecReport& report);
void check_device(const spec::Job& job, SpecReport& report);

// The model's sizes as typed values, once they have been checked.
ModelConfig model_config(const spec::Model& model);

}  // namespace octant
