#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/cli/case.h"

namespace octant::cli {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

int lines_with(const std::string& content, const std::string& text) {
  std::istringstream lines(content);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(text) != std::string::npos;
  return count;
}

std::string last_line(std::string content) {
  while (!content.empty() && content.back() == '\n') content.pop_back();
  const size_t start = content.rfind('\n');
  return start == std::string::npos ? content : content.substr(start + 1);
}

class Runner {
 public:
  Runner(const Case& test, const std::string& folder) : test_(test), folder_(folder) {}

  std::vector<std::string> run() {
    for (const Statement& statement : test_.statements) {
      if (statement.subject == "file") {
        fs::create_directories((folder_ / statement.text).parent_path());
        std::ofstream(folder_ / statement.text, std::ios::binary) << statement.verb;
      } else if (statement.subject == "run") {
        require_exit();
        command(statement);
      } else if (statement.subject == "exit") {
        exit_said_ = true;
        if (exit_code_ != std::stoi(statement.text))
          against(statement, "the exit code is " + std::to_string(exit_code_) + "\n" + both());
      } else {
        const std::string fault = expectation(statement);
        if (!fault.empty()) against(statement, fault);
      }
    }
    require_exit();
    return std::move(faults_);
  }

 private:
  void against(const Statement& statement, const std::string& fault) {
    faults_.push_back(test_.path + ":" + std::to_string(statement.line) + ": " + statement.subject + " " +
                      statement.verb + " " + statement.text + "\n  " + fault);
  }

  void require_exit() {
    if (running_ && !exit_said_) against(*running_, "the case does not say what the exit code is");
  }

  void command(const Statement& statement) {
    const fs::path binary(OCTANT_COMMAND);
    const std::string line = "cd " + quoted(folder_.string()) +
                             " && PATH=" + quoted(binary.parent_path().string()) +
                             ":\"$PATH\" SOURCE=" + quoted(OCTANT_SOURCE_DIR) + " sh -c " +
                             quoted(statement.text) + " >stdout.captured 2>stderr.captured </dev/null";
    const int status = std::system(line.c_str());
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    running_ = &statement;
    exit_said_ = false;
  }

  fs::path path_of(const std::string& subject) const {
    return folder_ / (subject == "stdout" || subject == "stderr" ? subject + ".captured" : subject);
  }

  std::string both() const {
    return "stdout:\n" + content_of(path_of("stdout")) + "\nstderr:\n" + content_of(path_of("stderr"));
  }

  // What is against the expectation; empty if nothing is.
  std::string expectation(const Statement& s) const {
    if (!fs::exists(path_of(s.subject))) return "there is no such file";
    const std::string content = content_of(path_of(s.subject));
    bool met = false;
    if (s.verb == "contains") met = content.find(s.text) != std::string::npos;
    if (s.verb == "lacks") met = content.find(s.text) == std::string::npos;
    if (s.verb == "matches")
      met = std::regex_search(content, std::regex(s.text, std::regex::ECMAScript | std::regex::multiline));
    if (s.verb == "once") met = lines_with(content, s.text) == 1;
    if (s.verb == "ends") met = last_line(content).starts_with(s.text);
    if (s.verb == "empty") met = content.empty();
    if (s.verb == "equals") met = content == content_of(path_of(s.text));
    if (s.verb == "is") met = s.text == "xml" && xml_fault(content).empty();
    if (met) return {};
    return s.verb == "is" ? xml_fault(content) : "it is:\n" + content;
  }

  const Case& test_;
  fs::path folder_;
  std::vector<std::string> faults_;
  const Statement* running_ = nullptr;
  int exit_code_ = 0;
  bool exit_said_ = false;
};

}  // namespace

std::vector<std::string> run_case(const Case& test, const std::string& folder) {
  return Runner(test, folder).run();
}

}  // namespace octant::cli
