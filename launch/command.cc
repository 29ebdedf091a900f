#include "launch/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ostream>

#include "core/error.h"
#include "job/field_names.h"
#include "launch/exit_codes.h"
#include "launch/verbs.h"

namespace octant {
namespace {

constexpr std::array<const char*, 2> kLaterVerbs{"plan", "launch"};

void add_verbs(CLI::App& app, VerbAction& chosen) {
  add_check(app, chosen);
  add_train(app, chosen);
  add_eval(app, chosen);
  add_generate(app, chosen);
  add_schedule(app, chosen);
  add_data(app, chosen);
  add_checkpoint(app, chosen);
  add_version(app, chosen);
}

// A first word that is no verb gets an answer of its own: the parser would only call it unexpected.
void check_verb(const CLI::App& app, const std::string& word) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(verb->get_name());
  if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return;
  if (std::find(kLaterVerbs.begin(), kLaterVerbs.end(), word) != kLaterVerbs.end())
    throw UserError("octant " + word + " is not built yet");
  std::string fix = "use ";
  if (const auto near = nearest_word(word, verbs)) {
    fix = "did you mean '" + *near + "'?";
  } else {
    for (size_t i = 0; i < verbs.size(); ++i)
      fix += (i == 0 ? "" : i + 1 == verbs.size() ? " or " : ", ") + verbs[i];
  }
  throw UserError("there is no verb '" + word + "'; " + fix);
}

std::string chain_of(const CLI::App& app) {
  std::string chain = app.get_name();
  for (const CLI::App* verb : app.get_subcommands()) chain += " " + chain_of(*verb);
  return chain;
}

int run(const std::vector<std::string>& arguments, Streams& streams) {
  CLI::App app("Octant trains transformer language models over data x tensor x pipeline, with ZeRO 0-3.",
               "octant");
  app.require_subcommand(1);
  app.footer(exit_codes_text());
  VerbAction chosen;
  add_verbs(app, chosen);
  if (arguments.empty()) {
    streams.err << app.help();
    throw UserError("no verb was given; begin with 'octant check JOB.pbtxt'");
  }
  if (!arguments.front().starts_with("-")) check_verb(app, arguments.front());
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    streams.out << app.help();
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UserError(std::string(error.what()) + "; see '" + chain_of(app) + " --help'");
  }
  return chosen(streams);
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, Streams& streams) {
  try {
    return run(arguments, streams);
  } catch (...) {
    return fail(streams, std::current_exception());
  }
}

}  // namespace octant
