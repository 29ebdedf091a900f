#include <fstream>
#include <set>
#include <stdexcept>

#include "tests/cli/case.h"

namespace octant::cli {
namespace {

std::string take_word(std::string& text) {
  const size_t space = text.find(' ');
  const std::string word = text.substr(0, space);
  text = space == std::string::npos ? std::string() : text.substr(space + 1);
  return word;
}

bool is_subject(const std::string& word) {
  return word == "stdout" || word == "stderr" || word.find('.') != std::string::npos ||
         word.find('/') != std::string::npos;
}

Statement parse(const std::string& line) {
  static const std::set<std::string> verbs{"contains", "lacks", "matches", "once",
                                           "ends",     "empty", "equals",  "is"};
  Statement statement;
  statement.text = line;
  statement.subject = take_word(statement.text);
  if (statement.subject == "file" || statement.subject == "run" || statement.subject == "exit")
    return statement;
  if (!is_subject(statement.subject))
    throw std::runtime_error("no statement begins with '" + statement.subject + "'");
  statement.verb = take_word(statement.text);
  if (!verbs.count(statement.verb))
    throw std::runtime_error("no expectation is called '" + statement.verb + "'");
  return statement;
}

}  // namespace

Case read_case(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  Case test{.path = path, .statements = {}};
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '|') {
      if (test.statements.empty() || test.statements.back().subject != "file")
        throw std::runtime_error(path + ":" + std::to_string(number) + ": a line of a file without the file");
      test.statements.back().verb += (line.size() > 2 ? line.substr(2) : std::string()) + "\n";
      continue;
    }
    try {
      test.statements.push_back(parse(line));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": " + error.what());
    }
    test.statements.back().line = number;
  }
  return test;
}

}  // namespace octant::cli
