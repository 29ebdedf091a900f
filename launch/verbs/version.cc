#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>

#include <CLI/CLI.hpp>
#include <ostream>

#include "core/cpu/instruction_set.h"
#include "launch/verbs.h"

namespace octant {
namespace {

int print_version(Streams& streams) {
  streams.out << fmt::format("octant {}\n", OCTANT_VERSION)
              << fmt::format("built with GCC {}, C++{}\n", __VERSION__, __cplusplus / 100 % 100)
              << fmt::format("protobuf {}\n",
                             google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION))
              << fmt::format("instruction set here: {}", cpu::instruction_set()) << std::endl;
  return 0;
}

}  // namespace

void add_version(CLI::App& app, VerbAction& chosen) {
  app.add_subcommand("version", "this build and what it found on this machine")->callback([&chosen] {
    chosen = print_version;
  });
}

}  // namespace octant
