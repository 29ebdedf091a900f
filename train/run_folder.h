// The folder that a run writes into, held by rank 0: locked against a second run, with the effective job and
// the metrics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "job/job.h"

namespace octant {

class RunFolder {
 public:
  // Creates what is missing and locks it, and checkpoint.dir too where checkpoints are made. DataError if
  // another run holds a lock, or a folder cannot be written.
  explicit RunFolder(const Job& job);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Writes job.pbtxt and opens metrics.jsonl, cut back to the steps up to `resumed_step` (0: begun anew).
  void begin(const Job& job, int64_t resumed_step);
  // One line of JSON. DataError when it cannot be written (a full disk).
  void append_metrics(const std::string& line);
  void write_summary(const std::string& json);
  // A report of the run under a name of its own. DataError likewise.
  void write_report(const std::string& name, const std::string& text);

 private:
  void release();
  void lock(const std::filesystem::path& folder, const std::string& field);

  std::filesystem::path folder_;
  std::vector<int> locks_;
  std::ofstream metrics_;
};

// This rank's own log, logs/rank_00003.log under the output folder.
LoggerPtr make_rank_log(const std::string& output_dir, int rank);

}  // namespace octant
