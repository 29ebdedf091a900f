// Where the command talks: results to `out`, for a person or a pipe; what went wrong, and what was decided on
// the user's behalf, to `err`, each line beginning with "octant: ".
#pragma once

#include <iosfwd>

namespace octant {

struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool interactive = false;  // `out` is a terminal
};

}  // namespace octant
