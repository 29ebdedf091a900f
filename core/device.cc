#include "core/device.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"

namespace octant {
namespace {

constexpr int64_t kSmallestClass = 64;

// Classes are four to an octave, so a block wastes less than a quarter of itself.
int64_t size_class(int64_t bytes) {
  if (bytes <= kSmallestClass) return kSmallestClass;
  int64_t octave = kSmallestClass;
  while (octave <= bytes / 2) octave *= 2;
  const int64_t step = std::max<int64_t>(octave / 4, kSmallestClass);
  return (bytes + step - 1) / step * step;
}

}  // namespace

// The blocks that dead tensors gave back, by class. Shared with the storages, so that one which outlives its
// device still finds the backend that frees it.
class Device::Pool : public std::enable_shared_from_this<Device::Pool> {
 public:
  Pool(Backend& backend, MemoryLedger& ledger) : backend_(&backend), ledger_(&ledger) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { free_idle(); }

  std::shared_ptr<Storage> take(int64_t bytes, MemoryKind kind);

  // The device dies: idle blocks go back now, and the backend stays alive for the blocks still in use.
  void retire(std::unique_ptr<Backend> backend) {
    free_idle();
    ledger_ = nullptr;
    if (in_use_ > 0) retired_backend_ = std::move(backend);
  }

  int64_t system_allocations() const { return system_allocations_; }

 private:
  class Block;

  void* acquire(int64_t block_bytes) {
    std::vector<void*>& idle = idle_[block_bytes];
    if (!idle.empty()) {
      void* data = idle.back();
      idle.pop_back();
      return data;
    }
    // Room for this block's own return is made here, so that giving a block back never allocates.
    idle.reserve(idle.size() + static_cast<size_t>(++blocks_[block_bytes]));
    void* data = nullptr;
    try {
      data = backend_->allocate(block_bytes);
    } catch (const MemoryError&) {
      free_idle();
      data = backend_->allocate(block_bytes);
    }
    ++system_allocations_;
    return data;
  }

  void give_back(void* data, int64_t block_bytes, int64_t bytes, MemoryKind kind) {
    --in_use_;
    if (ledger_ != nullptr) {
      ledger_->release(kind, bytes);
      idle_[block_bytes].push_back(data);
    } else {
      backend_->free(data, block_bytes);
    }
  }

  void free_idle() {
    for (auto& [block_bytes, idle] : idle_) {
      for (void* data : idle) backend_->free(data, block_bytes);
      blocks_[block_bytes] -= static_cast<int64_t>(idle.size());
      idle.clear();
    }
  }

  Backend* backend_;
  MemoryLedger* ledger_;
  std::unique_ptr<Backend> retired_backend_;
  std::unordered_map<int64_t, std::vector<void*>> idle_;
  std::unordered_map<int64_t, int64_t> blocks_;
  int64_t in_use_ = 0;
  int64_t system_allocations_ = 0;
};

class Device::Pool::Block : public Storage {
 public:
  Block(std::shared_ptr<Pool> pool, void* data, int64_t block_bytes, int64_t bytes, MemoryKind kind)
      : Storage(data, bytes), pool_(std::move(pool)), block_bytes_(block_bytes), kind_(kind) {}
  ~Block() override { pool_->give_back(data(), block_bytes_, bytes(), kind_); }

 private:
  std::shared_ptr<Pool> pool_;
  int64_t block_bytes_;
  MemoryKind kind_;
};

std::shared_ptr<Storage> Device::Pool::take(int64_t bytes, MemoryKind kind) {
  ledger_->charge(kind, bytes);
  const int64_t block_bytes = size_class(bytes);
  void* data = nullptr;
  try {
    data = acquire(block_bytes);
    auto block = std::make_shared<Block>(shared_from_this(), data, block_bytes, bytes, kind);
    ++in_use_;
    return block;
  } catch (...) {
    if (data != nullptr) backend_->free(data, block_bytes);
    ledger_->release(kind, bytes);
    throw;
  }
}

Device::Device(std::unique_ptr<Backend> backend, int64_t memory_limit)
    : backend_(std::move(backend)), ledger_(memory_limit), pool_(std::make_shared<Pool>(*backend_, ledger_)) {
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

Tensor Device::allocate(const Shape& shape, DType dtype, MemoryKind kind) {
  int64_t bytes = size_of(dtype);
  for (int dim = 0; dim < shape.dims(); ++dim) {
    if (__builtin_mul_overflow(bytes, shape[dim], &bytes) ||
        bytes > std::numeric_limits<int64_t>::max() / 2) {
      throw MemoryError(
          fmt::format("a tensor of shape {} and type {} has more bytes than a 63-bit number counts",
                      shape.str(), name_of(dtype)));
    }
  }
  return Tensor(pool_->take(bytes, kind), 0, shape, dtype);
}

Tensor Device::allocate_zeroed(const Shape& shape, DType dtype, MemoryKind kind) {
  Tensor tensor = allocate(shape, dtype, kind);
  backend_->set_zero(compute(), tensor.data(), tensor.bytes());
  return tensor;
}

int64_t Device::system_allocations() const {
  return pool_->system_allocations();
}

}  // namespace octant
