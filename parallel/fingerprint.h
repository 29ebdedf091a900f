// What a rank says it is calling, so that ranks that call different things are told instead of left hanging.
//
// Plain bytes: threads compare it in shared memory, mpi sends it ahead of the data under
// debug.verify_collectives.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.h"
#include "core/ops.h"
#include "parallel/traffic_ledger.h"

namespace octant {

struct Fingerprint {
  Collective operation = Collective::kBarrier;
  DType dtype = DType::kU8;
  ReduceOp reduce = ReduceOp::kSum;
  bool host = false;     // scalars or bytes of the host
  int32_t root = -1;     // broadcast
  int64_t sequence = 0;  // the how-manieth call on this communicator
  int64_t elements = 0;  // in total over the pieces
  int64_t bytes = 0;
  uint64_t layout = 0;  // a hash of every piece's dtype, stride and count
  std::array<char, 32> purpose{};

  void set_purpose(const char* text);
  void add_piece(DType piece_dtype, int64_t stride, int64_t count);

  // "reduce_scatter of 192 f32 (gradients)"
  std::string str() const;
};

// Whether two ranks call the same thing. `purpose` is compared when `strict`.
bool matches(const Fingerprint& a, const Fingerprint& b, bool strict);

// "collectives of group data do not match at call 17: rank 0 calls …, rank 2 calls …".
std::string mismatch_text(const std::string& group, int rank_a, const Fingerprint& a, int rank_b,
                          const Fingerprint& b);

}  // namespace octant
