// A command test as a text file, tests/cli/cases/*.test: files, commands, and what the commands must answer.
//
//   # What is tested, in a line.
//   file job.pbtxt
//   | model { num_layer: 2 }
//   run octant check job.pbtxt
//   exit 2
//   stderr contains did you mean
//   stderr once octant:
//
// A case runs in an empty folder of its own. Statements:
//   file NAME               writes the lines after it that begin with "| " (or are "|") into NAME
//   run COMMAND             runs it with sh; `octant` is the command under test, $SOURCE the repository
//   exit N                  the last command's exit code; must be said
//   SUBJECT contains TEXT   SUBJECT: stdout or stderr of the last command, or a file (with a dot or a slash)
//   SUBJECT lacks TEXT
//   SUBJECT matches REGEX   ECMAScript, anywhere
//   SUBJECT once TEXT       exactly one line holds it
//   SUBJECT ends TEXT       the last line begins with it
//   SUBJECT empty
//   SUBJECT equals OTHER    byte for byte the file OTHER
//   SUBJECT is xml          one well-formed element
#pragma once

#include <string>
#include <vector>

namespace octant::cli {

struct Statement {
  int line = 0;
  std::string subject;  // "file", "run", "exit", or what an expectation is about
  std::string verb;     // of an expectation
  std::string text;
};

struct Case {
  std::string path;
  std::vector<Statement> statements;
};

// Throws std::runtime_error with path and line for a statement that is not one.
Case read_case(const std::string& path);

// Runs the case in `folder`, which is empty. Returns what went against expectation, one line each; none:
// passed.
std::vector<std::string> run_case(const Case& test, const std::string& folder);

// Why `text` is not one well-formed XML element; empty if it is.
std::string xml_fault(const std::string& text);

}  // namespace octant::cli
