#include "core/cpu/matmul_cut.h"

#include <algorithm>
#include <cstddef>

namespace octant::cpu {
namespace {

// Blocks begin on a cache line of any type.
constexpr int64_t kLine = 64;

Matrix some_rows(const Matrix& matrix, int64_t begin, int64_t count) {
  std::byte* const data = static_cast<std::byte*>(matrix.data) + begin * matrix.ld * size_of(matrix.dtype);
  return {data, matrix.dtype, count, matrix.cols, matrix.ld};
}

Matrix some_columns(const Matrix& matrix, int64_t begin, int64_t count) {
  std::byte* const data = static_cast<std::byte*>(matrix.data) + begin * size_of(matrix.dtype);
  return {data, matrix.dtype, matrix.rows, count, matrix.ld};
}

// A weight gradient (a transposed) is best cut along its longer side, an input gradient (nothing transposed)
// along its columns, and a forward product along its rows, but for one as wide as a head's.
bool is_cut_along_rows(const MatmulArgs& args) {
  constexpr int64_t kHead = 8192;
  if (args.transpose_a) return args.c.rows >= args.c.cols;
  return args.transpose_b && args.c.cols < kHead;
}

// Rows [begin, begin + count) of op(a) by all of op(b), into those rows of c.
MatmulArgs rows_of(const MatmulArgs& args, int64_t begin, int64_t count) {
  MatmulArgs part = args;
  part.a = args.transpose_a ? some_columns(args.a, begin, count) : some_rows(args.a, begin, count);
  part.c = some_rows(args.c, begin, count);
  return part;
}

// The same for columns of op(b).
MatmulArgs columns_of(const MatmulArgs& args, int64_t begin, int64_t count) {
  MatmulArgs part = args;
  part.b = args.transpose_b ? some_rows(args.b, begin, count) : some_columns(args.b, begin, count);
  part.c = some_columns(args.c, begin, count);
  if (args.bias != nullptr)
    part.bias = static_cast<const std::byte*>(args.bias) + begin * size_of(args.a.dtype);
  return part;
}

}  // namespace

std::vector<MatmulArgs> cut_for_team(const MatmulArgs& args, int threads) {
  constexpr int64_t kSmallest = 256;
  const bool rows = is_cut_along_rows(args);
  const int64_t length = rows ? args.c.rows : args.c.cols;
  if (args.a.dtype != DType::kBF16 || threads < 2 || length < kSmallest * threads) return {};
  std::vector<MatmulArgs> parts;
  const int64_t lines = (length + kLine - 1) / kLine;
  for (int64_t part = 0; part < threads; ++part) {
    const int64_t begin = std::min(length, lines * part / threads * kLine);
    const int64_t end = std::min(length, lines * (part + 1) / threads * kLine);
    parts.push_back(rows ? rows_of(args, begin, end - begin) : columns_of(args, begin, end - begin));
  }
  return parts;
}

// oneDNN 2.6 reads a dense b that is not transposed in place, which the cache forgives while b is small; with
// b as half of the columns of a wider matrix it copies blocks of it first.
std::vector<MatmulArgs> cut_for_cache(const MatmulArgs& args) {
  constexpr int64_t kLargeOperand = 800'000;
  const Matrix& b = args.b;
  const int64_t half = (b.cols / 2 + kLine - 1) / kLine * kLine;
  const bool in_place = !args.transpose_b && b.ld == b.cols && b.rows * b.cols >= kLargeOperand;
  if (!in_place || (args.a.dtype != DType::kF32 && !args.transpose_a) || half == 0 || half >= args.c.cols)
    return {args};
  return {columns_of(args, 0, half), columns_of(args, half, args.c.cols - half)};
}

}  // namespace octant::cpu
