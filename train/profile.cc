#include "train/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/profile_table.h"

namespace octant {
namespace {

constexpr int64_t kWarmUpSteps = 2;
// Of one rank; the trace of a whole world stays within what a viewer opens.
constexpr int64_t kMostEvents = 200'000;
constexpr int64_t kMostEventsOfTheWorld = 2'000'000;

ProfilingBackend& profiling(World& world) {
  auto* const backend = dynamic_cast<ProfilingBackend*>(&world.device().ops());
  if (backend == nullptr) throw BugError("a profile was asked of a device that keeps no accounts");
  return *backend;
}

int64_t most_events(const World& world) {
  return std::min(kMostEvents, kMostEventsOfTheWorld / world.size());
}

double seconds_between(TransportObserver::Clock::time_point begin, TransportObserver::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Profile::Profile(World& world, const ProfileOptions& options)
    : world_(world), options_(options), backend_(profiling(world)) {}

Profile::~Profile() {
  if (state_ == State::kMeasuring) world_.observe(nullptr);
  backend_.stop();
}

void Profile::before_step(int64_t done) {
  step_ = done + 1;
  if (state_ == State::kBefore && done >= kWarmUpSteps) begin();
  if (state_ != State::kMeasuring) return;
  // What happens between steps, reading and saving, belongs to none of them.
  at_begin_ = world_.times();
  world_.observe(this);
  backend_.resume();
  steps_.push_back({step_, Clock::now(), {}});
}

void Profile::begin() {
  matmul_ = matmul_rate(world_, options_.where, options_.compute, 0.2);
  memory_ = memory_rate(world_, options_.where);
  steps_.reserve(static_cast<size_t>(options_.steps));
  transport_.reserve(static_cast<size_t>(most_events(world_)));
  if (world_.device().carrier() != nullptr) progress_.reserve(static_cast<size_t>(most_events(world_)));
  backend_.start(most_events(world_));
  state_ = State::kMeasuring;
  world_.communicator().barrier().wait();
  origin_ = Clock::now();
  backend_.stop();
}

std::optional<ProfileReport> Profile::after_step() {
  if (state_ != State::kMeasuring) return std::nullopt;
  steps_.back().end = Clock::now();
  backend_.stop();
  world_.observe(nullptr);
  in_steps_.waited += world_.times().waited - at_begin_.waited;
  in_steps_.moved += world_.times().moved - at_begin_.moved;
  in_steps_.hidden += world_.times().hidden - at_begin_.hidden;
  if (static_cast<int64_t>(steps_.size()) < options_.steps) return std::nullopt;
  return report();
}

std::optional<ProfileReport> Profile::end() {
  if (state_ != State::kMeasuring || steps_.empty()) return std::nullopt;
  return report();
}

void Profile::keep(std::vector<Interval>& where, const Interval& interval) {
  if (where.size() < where.capacity()) {
    where.push_back(interval);
  } else {
    ++lost_;
  }
}

void Profile::waited(Clock::time_point begin, Clock::time_point end) {
  keep(transport_, {begin, end, false});
}

void Profile::moved(Clock::time_point begin, Clock::time_point end) {
  keep(transport_, {begin, end, true});
}

void Profile::hidden(Clock::time_point begin, Clock::time_point end) {
  keep(progress_, {begin, end, true});
}

std::string Profile::accounts() const {
  double total = 0;
  for (const Step& step : steps_) total += seconds_between(step.begin, step.end);
  nlohmann::ordered_json mine;
  mine["rank"] = options_.rank_name;
  mine["first_step"] = steps_.front().number;
  mine["steps"] = steps_.size();
  mine["seconds"] = total;
  mine["waited"] = in_steps_.waited;
  mine["moved"] = in_steps_.moved;
  mine["hidden"] = in_steps_.hidden;
  mine["matmul_rate"] = matmul_.each;
  mine["memory_rate"] = memory_.each;
  mine["lost_events"] = lost_.load() + backend_.lost_events();
  for (size_t i = 0; i < ProfilingBackend::kOperations; ++i) {
    const auto operation = static_cast<ProfilingBackend::Operation>(i);
    const ProfilingBackend::Total& at = backend_.totals()[i];
    if (at.calls == 0) continue;
    mine["operations"].push_back({{"name", ProfilingBackend::name(operation)},
                                  {"calls", at.calls},
                                  {"seconds", at.seconds},
                                  {"flops", at.cost.flops},
                                  {"bytes", at.cost.bytes}});
  }
  return mine.dump();
}

// The events of this rank, each followed by a comma: pieces of one JSON array.
std::string Profile::events() const {
  constexpr int kOperationsLane = 0, kTransportLane = 1, kStepsLane = 2, kProgressLane = 3;
  std::string text;
  const auto add = [&](int lane, std::string_view name, Clock::time_point begin, Clock::time_point end,
                       const std::string& more) {
    const double us = 1e6;
    text += fmt::format(R"({{"ph":"X","pid":{},"tid":{},"name":"{}","ts":{:.3f},"dur":{:.3f}{}}},)"
                        "\n",
                        world_.rank(), lane, name, us * seconds_between(origin_, begin),
                        us * seconds_between(begin, end), more);
  };
  const auto name = [&](const char* what, int lane, const std::string& text_of) {
    text += fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}},)"
                        "\n",
                        world_.rank(), lane, what, nlohmann::json(text_of).dump());
  };
  name("process_name", kOperationsLane, options_.rank_name);
  name("thread_name", kOperationsLane, "operations");
  name("thread_name", kTransportLane, "transport");
  if (!progress_.empty()) name("thread_name", kProgressLane, "progress thread");
  name("thread_name", kStepsLane, "steps");
  for (const ProfilingBackend::Event& event : backend_.events()) {
    const double seconds = std::max(seconds_between(event.begin, event.end), 1e-9);
    add(kOperationsLane, ProfilingBackend::name(event.operation), event.begin, event.end,
        event.cost.flops > 0
            ? fmt::format(R"(,"args":{{"GFLOP/s":{:.1f}}})", event.cost.flops / seconds * 1e-9)
            : fmt::format(R"(,"args":{{"GB/s":{:.2f}}})", event.cost.bytes / seconds * 1e-9));
  }
  for (const Interval& interval : transport_)
    add(kTransportLane, interval.moved ? "moving" : "waiting", interval.begin, interval.end, "");
  for (const Interval& interval : progress_) add(kProgressLane, "moving", interval.begin, interval.end, "");
  for (const Step& step : steps_)
    add(kStepsLane, fmt::format("step {}", step.number), step.begin, step.end, "");
  return text;
}

ProfileReport Profile::report() {
  state_ = State::kDone;
  const std::vector<std::string> accounts_of = world_.communicator().all_gather(accounts());
  const std::vector<std::string> events_of = world_.communicator().all_gather(events());
  if (world_.rank() != 0) return {};
  ProfileReport result;
  result.table = profile_table(accounts_of, options_.steps);
  result.trace = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (const std::string& part : events_of) result.trace += part;
  result.trace.erase(result.trace.size() - 2);  // the last comma
  result.trace += "\n]}\n";
  return result;
}

}  // namespace octant
