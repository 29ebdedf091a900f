#include <cstdlib>

#include "parallel/world.h"

namespace octant::mpi {
namespace {

int number(const char* variable, int missing) {
  const char* text = std::getenv(variable);
  if (!text) return missing;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return end == text || *end != '\0' ? missing : static_cast<int>(value);
}

}  // namespace

bool launched() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
}

Launch launch() {
  return {.rank = number("OMPI_COMM_WORLD_RANK", number("PMIX_RANK", 0)),
          .size = number("OMPI_COMM_WORLD_SIZE", 1),
          .local_rank = number("OMPI_COMM_WORLD_LOCAL_RANK", 0),
          .local_size = number("OMPI_COMM_WORLD_LOCAL_SIZE", 1)};
}

}  // namespace octant::mpi
