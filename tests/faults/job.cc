#include "tests/faults/job.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "checkpoint/folder.h"

namespace octant::faults {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJob = R"(name: "faults"
output_dir: "out"
model { family: GPT2 num_layers: 4 hidden_size: 32 num_attention_heads: 4 vocab_size: 257 sequence_length: 16 }
data { train { text { path: "corpus.txt" tokenizer { bytes {} } } } }
batch { global_batch_size: 8 micro_batch_size: 2 }
optimizer { adamw { learning_rate: 1e-3 } }
learning_rate_schedule { decay: CONSTANT }
training { steps: 6 }
checkpoint { interval: 0 }
device { threads_per_rank: 1 }
)";

std::string number_text(const std::string& line, const std::string& key) {
  const size_t at = line.find("\"" + key + "\":");
  if (at == std::string::npos) return "";
  const size_t begin = line.find(':', at) + 1;
  return line.substr(begin, line.find_first_of(",}", begin) - begin);
}

}  // namespace

std::vector<std::string> mpirun(int ranks) {
  return {OCTANT_MPIRUN, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
          "-np",         std::to_string(ranks)};
}

std::vector<std::string> octant(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {OCTANT_COMMAND};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<std::string> train_command(const Set& set, Ranks kind, int ranks) {
  std::vector<std::string> command = kind == Ranks::kMpi ? mpirun(ranks) : std::vector<std::string>{};
  for (const std::string& word : octant({"train", "job.pbtxt"})) command.push_back(word);
  for (const std::string& assignment : set) {
    command.push_back("--set");
    command.push_back(assignment);
  }
  return command;
}

Faults::Faults() {
  std::string name = (fs::temp_directory_path() / "octant_faults_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = name;
  std::ofstream(folder_ / "job.pbtxt") << kJob;
  std::ofstream corpus(folder_ / "corpus.txt");
  for (int i = 1; i <= 2000; ++i) corpus << i << '\n';
}

Faults::~Faults() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Faults::TearDown() {
  for (const std::string& command : left_processes()) ADD_FAILURE() << "left behind: " << command;
}

std::unique_ptr<Process> Faults::start(const Set& set, Ranks kind, int ranks) const {
  return std::make_unique<Process>(train_command(set, kind, ranks), here());
}

Ended Faults::train(const Set& set, Ranks kind, int ranks) const {
  return start(set, kind, ranks)->wait();
}

Ended Faults::run(const std::vector<std::string>& command) const {
  return Process(command, here()).wait();
}

int64_t Faults::steps_done(const std::string& output) const {
  return static_cast<int64_t>(curve(output).size());
}

std::vector<std::pair<std::string, std::string>> Faults::curve(const std::string& output) const {
  std::ifstream file(folder_ / output / "metrics.jsonl");
  std::vector<std::pair<std::string, std::string>> steps;
  for (std::string line; std::getline(file, line);)
    if (line.ends_with('}')) steps.emplace_back(number_text(line, "loss"), number_text(line, "grad_norm"));
  return steps;
}

int64_t Faults::saved_step(const std::string& output) const {
  const NewestCheckpoint newest = newest_checkpoint(folder_ / output / "checkpoints");
  return newest.found ? newest.found->step : -1;
}

void Faults::expect_undisturbed_curve(const Set& set, int64_t steps, const std::string& output) const {
  Set straight = set;
  for (const std::string& more : {std::string("output_dir=undisturbed"), std::string("checkpoint.interval=0"),
                                  "training.steps=" + std::to_string(steps)})
    straight.push_back(more);
  const Ended ended = train(straight);
  ASSERT_EQ(ended.code, 0) << ended.text();
  EXPECT_EQ(steps_done("undisturbed"), steps);
  EXPECT_EQ(curve(output), curve("undisturbed"));
}

int messages_in(const std::string& text) {
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find("octant: ") != std::string::npos;
  return count;
}

void expect_message(const Ended& ended, int code, std::initializer_list<std::string> parts) {
  EXPECT_EQ(ended.code, code) << ended.text();
  EXPECT_EQ(messages_in(ended.err), 1) << ended.text();
  for (const std::string& part : parts)
    EXPECT_NE(ended.err.find(part), std::string::npos) << "no '" << part << "' in\n" << ended.text();
}

}  // namespace octant::faults
