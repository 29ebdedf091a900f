// The verbs of the `octant` command, one file each in launch/verbs/.
//
//   VerbAction chosen;
//   add_check(app, chosen);     // declares `octant check …`; parsing it leaves in `chosen` what it does
//   int exit_code = chosen(streams);
//
// An action returns its exit code, or throws an octant::Error before it has printed a message of its own.
#pragma once

#include <functional>

#include "launch/streams.h"

namespace CLI {
class App;
}

namespace octant {

using VerbAction = std::function<int(Streams&)>;

void add_check(CLI::App& app, VerbAction& chosen);
void add_train(CLI::App& app, VerbAction& chosen);
void add_eval(CLI::App& app, VerbAction& chosen);
void add_generate(CLI::App& app, VerbAction& chosen);
void add_schedule(CLI::App& app, VerbAction& chosen);
void add_data(CLI::App& app, VerbAction& chosen);
void add_checkpoint(CLI::App& app, VerbAction& chosen);
void add_version(CLI::App& app, VerbAction& chosen);

}  // namespace octant
