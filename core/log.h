// One logger a rank, passed down by reference; no global one, so that eight ranks can be eight threads.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>

namespace octant {
using Logger = spdlog::logger;
using LoggerPtr = std::shared_ptr<spdlog::logger>;
}  // namespace octant
