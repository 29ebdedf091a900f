#include <fmt/format.h>

#include <array>
#include <charconv>
#include <sstream>
#include <string_view>

#include "core/error.h"
#include "pipeline/schedule.h"

namespace octant {
namespace {

struct KindName {
  ActionKind kind;
  std::string_view name;
};
constexpr std::array<KindName, 6> kNames{{{ActionKind::kForward, "F"},
                                          {ActionKind::kBackward, "B"},
                                          {ActionKind::kSendForward, "SEND_F"},
                                          {ActionKind::kReceiveForward, "RECV_F"},
                                          {ActionKind::kSendBackward, "SEND_B"},
                                          {ActionKind::kReceiveBackward, "RECV_B"}}};

// Takes a whole number from the front of `text`; false if there is none.
bool take_number(std::string_view& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : lines_(text) {}

  Schedule parse() {
    std::string line;
    bool header = false;
    while (std::getline(lines_, line)) {
      ++number_;
      if (line.empty() || line.front() == '#') continue;
      line_ = line;
      if (header) {
        stage_line();
      } else {
        header_line();
        header = true;
      }
    }
    if (!header) throw UserError("a schedule's text is empty; it starts with a line such as " + example());
    if (schedule_.actions.size() != static_cast<size_t>(schedule_.stages))
      throw UserError(fmt::format("a schedule's text announces {} stages but has lines for {}",
                                  schedule_.stages, schedule_.actions.size()));
    return std::move(schedule_);
  }

 private:
  static std::string example() { return "'ONE_F_ONE_B stages=2 micro_batches=4'"; }

  void header_line() {
    std::istringstream words(line_);
    std::string kind, word;
    words >> kind;
    if (kind == name_of(ScheduleKind::kGpipe)) {
      schedule_.kind = ScheduleKind::kGpipe;
    } else if (kind == name_of(ScheduleKind::kOneFOneB)) {
      schedule_.kind = ScheduleKind::kOneFOneB;
    } else {
      fail(fmt::format("'{}' is no kind of schedule; use GPIPE or ONE_F_ONE_B", kind));
    }
    schedule_.stages = schedule_.micro_batches = 0;
    while (words >> word) {
      std::string_view rest = word;
      int* target = take_word(rest, "stages=")          ? &schedule_.stages
                    : take_word(rest, "micro_batches=") ? &schedule_.micro_batches
                    : take_word(rest, "chunks=")        ? &schedule_.chunks
                                                        : nullptr;
      if (!target || !take_number(rest, *target) || !rest.empty() || *target < 1)
        fail(fmt::format("'{}' is not understood; the first line reads like {}", word, example()));
    }
    if (schedule_.stages == 0 || schedule_.micro_batches == 0)
      fail("stages or micro_batches is missing; the first line reads like " + example());
  }

  void stage_line() {
    const int stage = static_cast<int>(schedule_.actions.size());
    std::string_view rest = line_;
    int given = -1;
    if (!take_word(rest, "stage ") || !take_number(rest, given) || !take_word(rest, ":"))
      fail(fmt::format("expected 'stage {}: F0 …'", stage));
    if (given != stage || stage >= schedule_.stages)
      fail(fmt::format("stage {} given where {} is next of {} stages", given, stage, schedule_.stages));
    std::istringstream words{std::string(rest)};
    auto& actions = schedule_.actions.emplace_back();
    std::string word;
    while (words >> word) actions.push_back(action(word));
  }

  Action action(std::string_view word) {
    for (const KindName& entry : kNames) {
      std::string_view rest = word;
      Action action{.kind = entry.kind};
      if (!take_word(rest, entry.name) || !take_number(rest, action.micro_batch)) continue;
      const bool chunked = schedule_.chunks > 1;
      if (chunked && !(take_word(rest, ".") && take_number(rest, action.chunk))) continue;
      if (rest.empty()) return action;
    }
    fail(fmt::format("'{}' is no action; actions read like {}", word,
                     schedule_.chunks > 1 ? "F0.1 or SEND_B3.0" : "F0 or SEND_B3"));
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw UserError(fmt::format("schedule text, line {}: {}", number_, why));
  }

  std::istringstream lines_;
  std::string line_;
  int number_ = 0;
  Schedule schedule_;
};

}  // namespace

std::string to_text(const Action& action, int chunks) {
  std::string_view name = "?";
  for (const KindName& entry : kNames)
    if (entry.kind == action.kind) name = entry.name;
  return chunks > 1 ? fmt::format("{}{}.{}", name, action.micro_batch, action.chunk)
                    : fmt::format("{}{}", name, action.micro_batch);
}

std::string to_text(const Schedule& schedule) {
  std::string text = fmt::format("{} stages={} micro_batches={}", name_of(schedule.kind), schedule.stages,
                                 schedule.micro_batches);
  if (schedule.chunks > 1) text += fmt::format(" chunks={}", schedule.chunks);
  text += '\n';
  for (size_t stage = 0; stage < schedule.actions.size(); ++stage) {
    text += fmt::format("stage {}:", stage);
    for (const Action& action : schedule.actions[stage]) text += ' ' + to_text(action, schedule.chunks);
    text += '\n';
  }
  return text;
}

Schedule parse_schedule(const std::string& text) {
  return Parser(text).parse();
}

}  // namespace octant
