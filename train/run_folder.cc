#include "train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace octant {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* doing) {
  throw DataError(fmt::format("{} {}: {}", doing, path.string(), std::strerror(errno)));
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  file << content;
  file.flush();
  if (!file) fail(path, "cannot write");
}

// The lines of a metrics file up to a step; a torn last line is dropped.
std::string lines_up_to(const std::filesystem::path& path, int64_t step) {
  std::ifstream file(path);
  std::string kept, line;
  while (std::getline(file, line)) {
    const nlohmann::json entry = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (entry.is_object() && entry.contains("step") && entry["step"].is_number_integer() &&
        entry["step"].get<int64_t>() <= step)
      kept += line + "\n";
  }
  return kept;
}

}  // namespace

RunFolder::RunFolder(const Job& job) : folder_(job.output_dir) {
  std::error_code error;
  std::filesystem::create_directories(folder_ / "logs", error);
  if (error)
    throw DataError(fmt::format("cannot create the output_dir {}: {}", folder_.string(), error.message()));
  try {
    lock(folder_, "output_dir");
    if (job.checkpoint.interval > 0) lock(job.checkpoint.dir, "checkpoint.dir");
  } catch (...) {
    release();  // a constructor that throws runs no destructor
    throw;
  }
}

void RunFolder::lock(const std::filesystem::path& folder, const std::string& field) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw DataError(fmt::format("cannot create {} {}: {}", field, folder.string(), error.message()));
  if (field != "output_dir" && std::filesystem::equivalent(folder, folder_, error)) return;
  const std::filesystem::path path = folder / ".lock";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(path, "cannot open");
  locks_.push_back(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    throw DataError(
        fmt::format("another run writes into {} {}; wait for it to end, or set {} to another folder", field,
                    folder.string(), field));
}

RunFolder::~RunFolder() {
  release();
}

void RunFolder::release() {
  for (const int descriptor : locks_) ::close(descriptor);
  locks_.clear();
}

void RunFolder::begin(const Job& job, int64_t resumed_step) {
  write_file(folder_ / "job.pbtxt", effective_spec_text(job));
  const std::filesystem::path path = folder_ / "metrics.jsonl", next = folder_ / "metrics.jsonl.tmp";
  write_file(next, resumed_step > 0 ? lines_up_to(path, resumed_step) : "");
  std::error_code error;
  std::filesystem::rename(next, path, error);
  if (error) throw DataError(fmt::format("cannot write {}: {}", path.string(), error.message()));
  metrics_.open(path, std::ios::app | std::ios::binary);
  if (!metrics_) fail(path, "cannot open");
}

void RunFolder::append_metrics(const std::string& line) {
  metrics_ << line << '\n';
  metrics_.flush();
  if (!metrics_) fail(folder_ / "metrics.jsonl", "cannot write");
}

void RunFolder::write_summary(const std::string& json) {
  write_file(folder_ / "summary.json", json + "\n");
}

void RunFolder::write_report(const std::string& name, const std::string& text) {
  write_file(folder_ / name, text);
}

LoggerPtr make_rank_log(const std::string& output_dir, int rank) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(output_dir) / "logs";
  std::filesystem::create_directories(folder, error);
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(
        (folder / fmt::format("rank_{:05}.log", rank)).string());
    auto logger = std::make_shared<spdlog::logger>(fmt::format("rank {}", rank), std::move(sink));
    logger->flush_on(spdlog::level::info);
    return logger;
  } catch (const spdlog::spdlog_ex& failure) {
    throw DataError(fmt::format("cannot open a log in {}: {}", folder.string(), failure.what()));
  }
}

}  // namespace octant
