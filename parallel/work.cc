#include "parallel/work.h"

#include <exception>
#include <utility>

#include "parallel/engine.h"
#include "parallel/operation.h"

namespace octant {

Work::Work(std::shared_ptr<Operation> operation) : operation_(std::move(operation)) {}

Work::Work(Work&&) noexcept = default;

Work& Work::operator=(Work&& other) noexcept {
  if (this == &other) return *this;
  Work old(std::move(*this));  // its destructor waits
  operation_ = std::move(other.operation_);
  return *this;
}

Work::~Work() {
  if (!operation_ || operation_->done()) return;
  // While an exception unwinds this rank, peers may never join: the engine keeps the operation and its
  // buffers instead.
  if (std::uncaught_exceptions() > 0) return;
  Engine& engine = operation_->engine();
  try {
    if (!engine.failed()) engine.wait(*operation_);
  } catch (...) {
    engine.remember(std::current_exception());
  }
}

void Work::wait() {
  if (!operation_) return;
  const std::shared_ptr<Operation> operation = std::move(operation_);
  operation->engine().wait(*operation);
}

bool Work::done() {
  if (!operation_) return true;
  if (!operation_->done()) operation_->engine().poll();
  return operation_->done();
}

}  // namespace octant
