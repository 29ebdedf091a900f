// The fixture of tests/faults: a folder with a job and its data, the command on thread ranks and under
// mpirun, and what it left there.
//
//   TEST_F(Faults, …) {
//     const Ended ended = train({"parallel.data=2"}, kMpi);
//     expect_message(ended, 3, {"corpus.txt"});               // one message, with these parts, and this code
//   }
//
// After every test no process may be left.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/process.h"

namespace octant::faults {

using Set = std::vector<std::string>;  // --set overrides

enum class Ranks { kThreads, kMpi };
inline void PrintTo(Ranks kind, std::ostream* out) {
  *out << (kind == Ranks::kMpi ? "mpirun" : "threads");
}

// `octant train` of the fixture's job. `ranks` counts only under mpirun.
std::vector<std::string> train_command(const Set& set, Ranks kind, int ranks);
std::vector<std::string> mpirun(int ranks);
std::vector<std::string> octant(const std::vector<std::string>& arguments);

class Faults : public testing::Test {
 protected:
  Faults();
  ~Faults() override;
  void TearDown() override;

  const std::filesystem::path& folder() const { return folder_; }
  Surroundings here() const { return {.directory = folder_, .unset = {}, .in_child = nullptr}; }

  Ended train(const Set& set, Ranks kind = Ranks::kThreads, int ranks = 2) const;
  std::unique_ptr<Process> start(const Set& set, Ranks kind = Ranks::kThreads, int ranks = 2) const;
  Ended run(const std::vector<std::string>& command) const;

  // Reads output_dir "out" unless told otherwise.
  int64_t steps_done(const std::string& output = "out") const;
  // (loss, grad_norm) of each step, as written.
  std::vector<std::pair<std::string, std::string>> curve(const std::string& output = "out") const;
  // The newest complete checkpoint's step; -1 if there is none.
  int64_t saved_step(const std::string& output = "out") const;
  // Trains `set` to `steps` in another folder, undisturbed, and compares both curves as text.
  void expect_undisturbed_curve(const Set& set, int64_t steps, const std::string& output = "out") const;

 private:
  std::filesystem::path folder_;
};

// Exactly one message of the command, with all of `parts`, and this exit code.
void expect_message(const Ended& ended, int code, std::initializer_list<std::string> parts);
int messages_in(const std::string& text);

}  // namespace octant::faults
