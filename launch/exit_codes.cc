#include "launch/exit_codes.h"

#include <fmt/format.h>

#include <ostream>

#include "core/error.h"
#include "parallel/failure.h"

namespace octant {

std::string exit_codes_text() {
  return "Exit codes:\n"
         "  0      done\n"
         "  1      a bug of ours\n"
         "  2      usage, a bad job spec, or a world that does not fit it\n"
         "  3      data, checkpoint or output unusable (a full disk too)\n"
         "  4      the memory budget is too small\n"
         "  5      a rank failed or timed out\n"
         "  6      training diverged: a loss or gradient norm is not finite\n"
         "  75     stopped by a signal after a checkpoint: the same command goes on\n"
         "  128+n  ended by signal n with nothing saved\n";
}

int fail(Streams& streams, int exit_code, const std::string& message) {
  const bool bug = exit_code == static_cast<int>(ExitCode::kBug);
  streams.out.flush();
  streams.err
      << "octant: " << message
      << (bug ? "; this is a bug of Octant's own: please report it with the job spec and the command line"
              : "")
      << std::endl;
  return exit_code;
}

int fail(Streams& streams, const std::exception_ptr& error) {
  const Failure failure = describe(error);
  return fail(streams, static_cast<int>(failure.code), failure.text);
}

}  // namespace octant
