#include "core/device.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "core/arena.h"
#include "core/error.h"

namespace octant {
// The arena that dead tensors give their blocks back to. Shared with the storages, so that one which outlives
// its device still finds the backend that frees it.
class Device::Pool : public std::enable_shared_from_this<Device::Pool> {
 public:
  Pool(Backend& backend, MemoryLedger& ledger)
      : backend_(&backend), ledger_(&ledger), arena_(std::in_place, backend) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // The arena's memory goes back to the backend, so it goes first.
  ~Pool() { arena_.reset(); }

  std::shared_ptr<Storage> take(int64_t bytes, MemoryKind kind, bool zeroed);

  // The device dies; the backend stays alive for the blocks still in use.
  void retire(std::unique_ptr<Backend> backend) {
    ledger_ = nullptr;
    if (in_use_ == 0) arena_.reset();
    retired_backend_ = std::move(backend);
  }

  int64_t mark() const { return arena_->mark(); }

 private:
  class Block;

  void give_back(void* data, int64_t bytes, MemoryKind kind) noexcept {
    --in_use_;
    if (ledger_ != nullptr) ledger_->release(kind, bytes);
    arena_->give_back(data, bytes);
  }

  Backend* backend_;
  MemoryLedger* ledger_;
  std::unique_ptr<Backend> retired_backend_;
  std::optional<Arena> arena_;
  int64_t in_use_ = 0;
};

class Device::Pool::Block : public Storage {
 public:
  Block(std::shared_ptr<Pool> pool, void* data, int64_t bytes, MemoryKind kind)
      : Storage(data, bytes), pool_(std::move(pool)), kind_(kind) {}
  ~Block() override { pool_->give_back(data(), bytes(), kind_); }

 private:
  std::shared_ptr<Pool> pool_;
  MemoryKind kind_;
};

std::shared_ptr<Storage> Device::Pool::take(int64_t bytes, MemoryKind kind, bool zeroed) {
  ledger_->charge(kind, bytes);
  void* data = nullptr;
  try {
    const Arena::Block taken = arena_->take(bytes);
    data = taken.data;
    if (zeroed && !taken.is_zero) backend_->set_zero(Stream{0}, data, bytes);
    auto block = std::make_shared<Block>(shared_from_this(), data, bytes, kind);
    ++in_use_;
    return block;
  } catch (...) {
    if (data != nullptr) arena_->give_back(data, bytes);
    ledger_->release(kind, bytes);
    throw;
  }
}

Device::Device(std::unique_ptr<Backend> backend, int64_t memory_limit, std::unique_ptr<Backend> carrier)
    : backend_(std::move(backend)),
      carrier_(std::move(carrier)),
      ledger_(memory_limit),
      pool_(std::make_shared<Pool>(*backend_, ledger_)) {
  if (memory_limit < 0) {
    throw UserError(fmt::format(
        "device.memory_limit={} is negative; use a number of bytes, or 0 for no limit", memory_limit));
  }
  backend_->charge_workspace_to(&ledger_);
}

Device::~Device() {
  backend_->charge_workspace_to(nullptr);
  pool_->retire(std::move(backend_));
}

Tensor Device::allocate(const Shape& shape, DType dtype, MemoryKind kind, bool zeroed) {
  int64_t bytes = size_of(dtype);
  for (int dim = 0; dim < shape.dims(); ++dim) {
    if (__builtin_mul_overflow(bytes, shape[dim], &bytes) ||
        bytes > std::numeric_limits<int64_t>::max() / 2) {
      throw MemoryError(
          fmt::format("a tensor of shape {} and type {} has more bytes than a 63-bit number counts",
                      shape.str(), name_of(dtype)));
    }
  }
  return Tensor(pool_->take(bytes, kind, zeroed), 0, shape, dtype);
}

Tensor Device::allocate(const Shape& shape, DType dtype, MemoryKind kind) {
  return allocate(shape, dtype, kind, /*zeroed=*/false);
}

Tensor Device::allocate_zeroed(const Shape& shape, DType dtype, MemoryKind kind) {
  return allocate(shape, dtype, kind, /*zeroed=*/true);
}

int64_t Device::arena_bytes() const {
  return pool_->mark();
}

}  // namespace octant
