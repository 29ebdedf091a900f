// Matrix products through oneDNN, with the primitives kept between calls.
//
// f32 and bf16 go to oneDNN as they are, accumulation in f32. Where the processor multiplies no bf16 (no
// AVX-512) the operands are widened to f32 first, and f16 always is. Used by one backend, from its rank's
// thread.
#pragma once

#include <memory>
#include <string>

#include "core/memory_ledger.h"
#include "core/ops.h"

namespace octant::cpu {

class Matmul {
 public:
  // `threads` of oneDNN's OpenMP team.
  explicit Matmul(int threads);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  void run(const MatmulArgs& args);
  // See Backend::charge_workspace_to.
  void charge_to(MemoryLedger* ledger);
  // Which code multiplies operands of this type on this processor.
  std::string path(DType dtype) const;

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace octant::cpu
