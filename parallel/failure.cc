#include "parallel/failure.h"

#include <new>

namespace octant {

Failure describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerFailed& failed) {
    return {failed.exit_code(), failed.what(), false};
  } catch (const Error& failed) {
    return {failed.exit_code(), failed.what(), true};
  } catch (const std::bad_alloc&) {
    return {ExitCode::kMemory, "the system has no memory left", true};
  } catch (const std::exception& failed) {
    return {ExitCode::kBug, failed.what(), true};
  } catch (...) {
    return {ExitCode::kBug, "an exception of unknown type", true};
  }
}

}  // namespace octant
