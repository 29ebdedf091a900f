#include <CLI/CLI.hpp>

#include "launch/verbs.h"
#include "launch/verbs/data.h"

namespace octant {

void add_data(CLI::App& app, VerbAction& chosen) {
  CLI::App* verb = app.add_subcommand("data", "makes, describes and reads back .bin/.idx data sets");
  verb->require_subcommand(1);
  add_data_build(*verb, chosen);
  add_data_info(*verb, chosen);
  add_data_decode(*verb, chosen);
}

}  // namespace octant
