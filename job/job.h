// The validated job: the one thing that train/ and launch/ read. Everything that could be wrong in it has
// been checked.
//
//   Job job = load_job("examples/quickstart.pbtxt", {"parallel.data=4"});  // job/load.h; throws UserError
//   check_world(job, started_ranks);                                       // job/validate.h
//   std::cout << effective_spec_text(job);
//
// A Job is a value: copy it, hand one to each rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/batch.h"
#include "job/settings.h"
#include "models/config.h"
#include "proto/job.pb.h"

namespace octant {

struct Job {
  std::string name;
  std::string output_dir;
  uint64_t seed = 1234;

  ModelConfig model;
  DataSettings data;
  ParallelSettings parallel;
  ZeroSettings zero;
  PrecisionSettings precision;
  BatchPlan batch;
  OptimizerSettings optimizer;
  LearningRateSettings learning_rate;
  bool activation_checkpointing = false;  // FULL
  TrainingSettings training;
  CheckpointSettings checkpoint;
  DeviceSettings device;
  TransportKind transport = TransportKind::kAuto;
  DebugSettings debug;

  spec::Job given;      // as written, with every --set
  spec::Job effective;  // with every default filled in
  std::vector<std::string>
      notices;  // one line each: options that have nothing to do, numbers that were derived
};

// The effective job in text format; loading it gives the same job. What depends on the layout (layers of each
// stage, bytes of the limit, the checkpoint folder) stands above it in comments.
std::string effective_spec_text(const Job& job);

}  // namespace octant
