#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "checkpoint/folder.h"
#include "data/batch_loader.h"
#include "train/checkpointing.h"
#include "train/console.h"
#include "train/engine.h"
#include "train/evaluation.h"
#include "train/learning_rate.h"
#include "train/machine_rate.h"
#include "train/placement.h"
#include "train/profile.h"
#include "train/run_folder.h"
#include "train/start_table.h"
#include "train/summary.h"

namespace octant {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Trainer {
 public:
  Trainer(World& world, const Job& job, const TrainOptions& options)
      : world_(world),
        job_(job),
        options_(options),
        console_(world.rank() == 0 ? options.out : nullptr, options.interactive),
        cut_{.data_size = job.parallel.data,
             .micro_batch_size = job.batch.micro,
             .accumulation = job.batch.accumulation} {}

  TrainResult run() {
    open();
    const Clock::time_point begin = Clock::now();
    const int64_t first = progress_.step;
    if (first == 0 && job_.training.steps == 0) save();
    bool stopped = false;
    while (progress_.step < job_.training.steps) {
      std::optional<Batch> batch = next_batch(stopped);
      if (stopped) break;
      if (profile_) profile_->before_step(progress_.step - first);
      train_step(*batch);
      batch.reset();
      if (profile_) keep_profile(profile_->after_step());
      const bool end = progress_.step == job_.training.steps;
      if (due(job_.training.eval_interval, end)) validate();
      if (due(job_.checkpoint.interval, end)) save();
    }
    if (profile_) keep_profile(profile_->end());
    if (profile_ && !profiled_)
      console_.line(
          "note: --profile measured nothing: the first two steps of a run warm up, and it had no more");
    if (stopped && progress_.step != saved_step_) save();
    console_.finish();
    if (job_.data.on_error == OnDataError::kSkip) report_left_out();
    const std::string summary =
        run_summary(*engine_, progress_.step - first, seconds_since(begin), machine_rate_.total);
    world_.agree("writing the summary", [&] {
      if (folder_) folder_->write_summary(summary);
    });
    return {.steps = progress_.step,
            .stopped = stopped,
            .checkpointed = saved_step_ == progress_.step,
            .loss = last_loss_};
  }

 private:
  void open() {
    world_.agree("opening the output folder", [&] {
      if (world_.rank() != 0) return;
      folder_ = std::make_unique<RunFolder>(job_);
      // Under the lock: what a run that died has left half saved.
      if (job_.checkpoint.interval > 0) remove_dead_saves(job_.checkpoint.dir);
    });
    world_.agree("opening the log", [&] { log_ = make_rank_log(job_.output_dir, world_.rank()); });
    world_.agree("opening the data", [&] {
      data_ = std::make_unique<BatchLoader>(loader_config(job_));
      if (job_.training.eval_interval > 0 && data_->validation_samples() == 0)
        throw DataError(
            "training.eval_interval is set but there is no validation split; set data.validation_fraction, "
            "give data.validation sources, or "
            "set training.eval_interval=0");
    });
    const ResumePoint resume = find_resume_point(world_, job_);
    engine_ = std::make_unique<TrainingEngine>(job_, world_, TrainingEngine::Purpose::kTrain);
    cut_.data_rank = engine_->groups().at.data;
    std::vector<std::string> notices = job_.notices;
    const RankPlacement placement = placement_of(job_, local_ranks(world_), world_.transport() != "threads");
    for (const std::string& notice : placement.notices()) notices.push_back(notice);
    for (const std::string& notice : data_->notices()) notices.push_back(notice);
    notices.insert(notices.end(), resume.notices.begin(), resume.notices.end());
    std::string start = "first weights from the seed";
    if (!resume.folder.empty()) {
      const Resumed resumed = load_checkpoint(*engine_, resume, data_->fingerprint());
      progress_ = resumed.progress;
      saved_step_ = progress_.step;
      if (resume.weights_only) saved_step_ = -1;
      start = resume.weights_only ? fmt::format("weights of {}; step, moments and data position afresh",
                                                resume.folder.string())
                                  : fmt::format("{} (step {})", resume.folder.string(), progress_.step);
      for (const std::string& change : resumed.notices)
        notices.push_back("changed since the checkpoint: " + change);
    } else {
      engine_->initialize();
    }
    measure_machine(placement);
    world_.agree("beginning the metrics", [&] {
      if (folder_) folder_->begin(job_, progress_.step);
    });
    console_.table(fmt::format("octant: {}", job_.name),
                   start_table(*engine_, *data_, machine_rate_, placement, start));
    for (const std::string& notice : notices) {
      console_.line("note: " + notice);
      log_->info("{}", notice);
    }
    log_->info("rank {} of {} on {}, begins at step {}", world_.rank(), world_.size(), world_.host(),
               progress_.step);
    world_.traffic().clear();
  }

  void measure_machine(const RankPlacement& placement) {
    const Neighbourhood where{.ranks_here = placement.ranks,
                              .place = placement.processes ? mpi::launch().local_rank : world_.rank(),
                              .cores = placement.shared_cores()};
    machine_rate_ = matmul_rate(world_, where, job_.precision.compute, 0.08);
    if (options_.profile_steps == 0) return;
    const Coordinates at = engine_->groups().at;
    profile_ = std::make_unique<Profile>(
        world_, ProfileOptions{.steps = options_.profile_steps,
                               .where = where,
                               .compute = job_.precision.compute,
                               .rank_name = fmt::format("rank {} (data {}, tensor {}, pipeline {})",
                                                        world_.rank(), at.data, at.tensor, at.pipeline)});
  }

  void keep_profile(const std::optional<ProfileReport>& report) {
    if (!report) return;
    profiled_ = true;
    world_.agree("writing the profile", [&] {
      if (!folder_) return;
      folder_->write_report("profile.txt", report->table);
      folder_->write_report("profile.trace.json", report->trace);
    });
    console_.line(report->table);
    console_.line(fmt::format("profile: {0}/profile.txt, {0}/profile.trace.json", job_.output_dir));
  }

  // Reads the batch of the next step and agrees with all ranks on whether to go on: a signal anywhere stops,
  // a batch that cannot be read anywhere is everyone's error.
  std::optional<Batch> next_batch(bool& stopped) {
    std::optional<Batch> batch;
    std::exception_ptr failure;
    try {
      batch = data_->load(world_.device(), cut_, progress_.consumed_samples, progress_.step);
    } catch (const Error&) {
      failure = std::current_exception();
    }
    int64_t control[2] = {options_.stop ? options_.stop->load() : 0, failure ? 1 : 0};
    world_.communicator().all_reduce(std::span<int64_t>(control), ReduceOp::kMax);
    if (control[1] != 0) {
      world_.agree("reading the batch", [&] {
        if (failure) std::rethrow_exception(failure);
      });
    }
    stopped = control[0] != 0;
    return batch;
  }

  // Of `data.on_error: SKIP`. The ranks of one data coordinate read the same, so one of them counts.
  void report_left_out() {
    const SkippedSamples mine = data_->skipped();
    for (const std::string& reason : mine.first) log_->warn("a sample was left out: {}", reason);
    const Coordinates at = engine_->groups().at;
    int64_t total = at.tensor == 0 && at.pipeline == 0 ? mine.samples : 0;
    world_.communicator().all_reduce(std::span<int64_t>(&total, 1), ReduceOp::kSum);
    const std::vector<std::string> reasons =
        world_.communicator().all_gather(mine.first.empty() ? std::string() : mine.first.front());
    const auto first = std::find_if(reasons.begin(), reasons.end(),
                                    [](const std::string& reason) { return !reason.empty(); });
    if (total > 0)
      console_.line(
          fmt::format("note: data.on_error SKIP left out {} sample{} (each data rank counts those that it "
                      "met), such as {}",
                      total, total == 1 ? "" : "s", *first));
  }

  void train_step(const Batch& batch) {
    const Clock::time_point begin = Clock::now();
    const TransportTimes before = world_.times();
    const double rate = learning_rate(job_.learning_rate, progress_.step);
    const StepReport report = engine_->step(batch, progress_.step, rate);
    ++progress_.step;
    progress_.consumed_samples += job_.batch.global;
    progress_.tokens += report.counted_tokens;
    last_loss_ = report.loss;

    const double seconds = seconds_since(begin);
    StepMetrics metrics{
        .step = progress_.step,
        .steps = job_.training.steps,
        .loss = report.loss,
        .gradient_norm = report.gradient_norm,
        .learning_rate = rate,
        .tokens = report.counted_tokens,
        .total_tokens = progress_.tokens,
        .step_seconds = seconds,
        .tokens_per_second = static_cast<double>(job_.batch.global * job_.model.sequence_length) / seconds,
        .wait_seconds = world_.times().waited - before.waited,
        .exposed_communication = world_.times().exposed() - before.exposed(),
        .hidden_communication = world_.times().hidden - before.hidden,
        .share = model_flops_per_token(job_.model) *
                 static_cast<double>(job_.batch.global * job_.model.sequence_length) /
                 (seconds * machine_rate_.total),
        .skipped = !report.applied};
    if (job_.precision.loss_scale.enabled) metrics.loss_scale = report.loss_scale;
    if (folder_) folder_->append_metrics(to_json(metrics));
    console_.step(metrics);
  }

  static bool due_at(int64_t interval, int64_t step) { return interval > 0 && step % interval == 0; }
  bool due(int64_t interval, bool end) const {
    return interval > 0 && (end || due_at(interval, progress_.step));
  }

  void validate() {
    const EvaluationReport report = evaluate(*engine_, *data_, job_.training.eval_batches);
    console_.line(fmt::format("eval at step {} | loss {} | {} sequences, {} tokens", progress_.step,
                              report.loss ? fmt::format("{:.6f}", *report.loss) : "none", report.sequences,
                              report.tokens));
    if (!folder_) return;
    folder_->append_metrics(fmt::format(
        R"({{"step":{},"eval_loss":{},"eval_sequences":{},"eval_tokens":{}}})", progress_.step,
        report.loss ? fmt::format("{:.17g}", *report.loss) : "null", report.sequences, report.tokens));
  }

  void save() {
    if (job_.checkpoint.interval == 0 || saved_step_ == progress_.step) return;
    const Clock::time_point begin = Clock::now();
    save_checkpoint(*engine_, progress_, data_->fingerprint());
    saved_step_ = progress_.step;
    log_->info("saved step {} in {:.3f} s", progress_.step, seconds_since(begin));
    console_.line(fmt::format("saved {}/step_{:08} in {:.2f} s", job_.checkpoint.dir, progress_.step,
                              seconds_since(begin)));
  }

  World& world_;
  const Job& job_;
  const TrainOptions& options_;
  Console console_;
  Cut cut_;
  std::unique_ptr<RunFolder> folder_;  // rank 0
  LoggerPtr log_;
  std::unique_ptr<BatchLoader> data_;
  std::unique_ptr<TrainingEngine> engine_;
  MachineRate machine_rate_;
  std::unique_ptr<Profile> profile_;  // after the engine, whose ranks it names
  bool profiled_ = false;
  Progress progress_;
  int64_t saved_step_ = -1;
  std::optional<double> last_loss_;
};

}  // namespace

TrainResult train(World& world, const Job& job, const TrainOptions& options) {
  return Trainer(world, job, options).run();
}

}  // namespace octant
