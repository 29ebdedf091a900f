#include "core/cpu/embedding.h"

#include <cstring>

#include "core/cpu/float_types.h"
#include "core/cpu/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/embedding.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include "core/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octant::cpu::HWY_NAMESPACE {

// table[row_of(i)] += dy[i] in row order for the columns [begin, end); a negative row_of(i) is skipped. Two
// rows may name the same row of the table, so threads share out columns and never rows.
template <typename RowOf>
HWY_INLINE void add_rows(int64_t rows, int64_t cols, int64_t begin, int64_t end, const void* dy_data,
                         DType dtype, void* table_data, DType table_dtype, const RowOf& row_of) {
  with_compute_type(dtype, [&](auto in_type) HWY_ATTR {
    using In = decltype(in_type);
    with_compute_type(table_dtype, [&](auto out_type) HWY_ATTR {
      using Out = decltype(out_type);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = row_of(i);
        if (row < 0) continue;
        const In* dy = static_cast<const In*>(dy_data) + i * cols;
        Out* table = static_cast<Out*>(table_data) + row * cols;
        pieces(begin, end, [&](int64_t j, auto count) HWY_ATTR {
          store(hn::Add(load(table + j, count), load(dy + j, count)), table + j, count);
        });
      }
    });
  });
}

void EmbeddingBackward(const EmbeddingBackwardArgs& args, int64_t begin, int64_t end) {
  add_rows(args.rows, args.cols, begin, end, args.dy, args.dtype, args.dtable, args.gradient_dtype,
           [&](int64_t i) HWY_ATTR {
             const int64_t local = args.ids[i] - args.first_id;
             return local < args.table_rows ? local : int64_t{-1};
           });
}

void PositionBackward(const PositionBackwardArgs& args, int64_t begin, int64_t end) {
  add_rows(args.rows, args.cols, begin, end, args.dy, args.dtype, args.dtable, args.gradient_dtype,
           [&](int64_t i) HWY_ATTR { return (args.first_row + i) % args.sequence; });
}

void PositionForward(const PositionForwardArgs& args, int64_t begin, int64_t end) {
  with_compute_type(args.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t i = begin; i < end; ++i) {
      const T* table = static_cast<const T*>(args.table) + (args.first_row + i) % args.sequence * args.cols;
      T* x = static_cast<T*>(args.x) + i * args.cols;
      pieces(0, args.cols, [&](int64_t j, auto count) HWY_ATTR {
        store(hn::Add(load(x + j, count), load(table + j, count)), x + j, count);
      });
    }
  });
}

}  // namespace octant::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octant::cpu {

HWY_EXPORT(EmbeddingBackward);
HWY_EXPORT(PositionForward);
HWY_EXPORT(PositionBackward);

void embedding_forward(const EmbeddingForwardArgs& args, int threads) {
  require_compute_type(args.dtype, "embedding_forward");
  const int64_t row_bytes = args.cols * size_of(args.dtype);
  if (row_bytes == 0) return;
  parallel_for(threads, args.rows, row_grain(args.cols), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t local = args.ids[i] - args.first_id;
      std::byte* out = static_cast<std::byte*>(args.out) + i * row_bytes;
      if (local >= 0 && local < args.table_rows) {
        std::memcpy(out, static_cast<const std::byte*>(args.table) + local * row_bytes,
                    static_cast<size_t>(row_bytes));
      } else {
        std::memset(out, 0, static_cast<size_t>(row_bytes));
      }
    }
  });
}

void embedding_backward(const EmbeddingBackwardArgs& args, int threads) {
  require_compute_type(args.dtype, "embedding_backward");
  require_compute_type(args.gradient_dtype, "embedding_backward");
  parallel_for(threads, args.cols, row_grain(args.rows), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(EmbeddingBackward)(args, begin, end);
  });
}

void position_forward(const PositionForwardArgs& args, int threads) {
  require_compute_type(args.dtype, "position_forward");
  parallel_for(threads, args.rows, row_grain(args.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(PositionForward)(args, begin, end);
  });
}

void position_backward(const PositionBackwardArgs& args, int threads) {
  require_compute_type(args.dtype, "position_backward");
  require_compute_type(args.gradient_dtype, "position_backward");
  parallel_for(threads, args.cols, row_grain(args.rows), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(PositionBackward)(args, begin, end);
  });
}

}  // namespace octant::cpu
#endif
