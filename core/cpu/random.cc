#include "core/cpu/random.h"

#include "core/cpu/parallel_for.h"
#include "core/math/normal.h"

namespace octant::cpu {

void normal_fill(const NormalFillArgs& args, int threads) {
  constexpr int64_t kGrain = 1024;
  parallel_for(threads, args.n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const uint64_t index = static_cast<uint64_t>(args.first_index + i);
      const NormalPair pair = normal_pair(args.key, index >> 1);
      if ((index & 1) == 0) args.out[i++] = args.standard_deviation * pair.even;
      // The pair's odd element, unless the range ends between the two.
      if (i < end) args.out[i++] = args.standard_deviation * pair.odd;
    }
  });
}

}  // namespace octant::cpu
