// The verbs below `octant data`; launch/verbs.h says how a verb is added.
#pragma once

#include "launch/verbs.h"

namespace octant {

void add_data_build(CLI::App& app, VerbAction& chosen);
void add_data_info(CLI::App& app, VerbAction& chosen);
void add_data_decode(CLI::App& app, VerbAction& chosen);

}  // namespace octant
