#include "core/cpu/matmul.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "core/cpu/elementwise.h"
#include "core/cpu/float_types.h"
#include "core/cpu/matmul_cut.h"
#include "core/cpu/scratch.h"

namespace octant::cpu {
namespace {

constexpr int kWholeTeam = -1;

// All that a primitive is made for; pointers come with the call.
struct Key {
  int64_t rows, cols, inner, lda, ldb, ldc;
  DType type, c_type;
  bool transpose_a, transpose_b, accumulate, bias;
  int part;  // of the team's, for one thread; kWholeTeam: for all threads together

  bool operator==(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    const int64_t flags = static_cast<int64_t>(key.type) | static_cast<int64_t>(key.c_type) << 4 |
                          key.transpose_a << 8 | key.transpose_b << 9 | key.accumulate << 10 |
                          key.bias << 11 | int64_t{key.part} << 12;
    uint64_t hash = 0xCBF29CE484222325ull;
    for (int64_t part : {key.rows, key.cols, key.inner, key.lda, key.ldb, key.ldc, flags}) {
      hash = (hash ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 29;
    }
    return static_cast<size_t>(hash);
  }
};

dnnl::memory::data_type library_type(DType dtype) {
  return dtype == DType::kBF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::desc matrix_desc(int64_t rows, int64_t cols, int64_t ld, bool transposed, DType dtype) {
  using Dims = dnnl::memory::dims;
  return {Dims{rows, cols}, library_type(dtype), transposed ? Dims{1, ld} : Dims{ld, 1}};
}

bool multiplies_bf16() {
  return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
}

void check(const MatmulArgs& args) {
  const int64_t m = args.transpose_a ? args.a.cols : args.a.rows;
  const int64_t k = args.transpose_a ? args.a.rows : args.a.cols;
  const int64_t k_of_b = args.transpose_b ? args.b.cols : args.b.rows;
  const int64_t n = args.transpose_b ? args.b.rows : args.b.cols;
  if (k != k_of_b || m != args.c.rows || n != args.c.cols) {
    throw BugError(fmt::format("matmul of op(a) {}x{} and op(b) {}x{} into c {}x{}: the sizes do not meet", m,
                               k, k_of_b, n, args.c.rows, args.c.cols));
  }
  if (args.a.ld < args.a.cols || args.b.ld < args.b.cols || args.c.ld < args.c.cols) {
    throw BugError("matmul was given a matrix whose ld is below its number of columns");
  }
  require_compute_type(args.a.dtype, "matmul");
  if (args.a.dtype != args.b.dtype || (args.c.dtype != args.a.dtype && args.c.dtype != DType::kF32)) {
    throw BugError(
        fmt::format("matmul of {} and {} into {}: the operands share a type, the result has it or f32",
                    name_of(args.a.dtype), name_of(args.b.dtype), name_of(args.c.dtype)));
  }
  if (args.bias != nullptr && args.accumulate) throw BugError("matmul takes a bias or accumulates, not both");
}

int64_t floats_of(const Matrix& matrix) {
  return matrix.rows * matrix.cols;
}

void convert_rows(const Matrix& from, const Matrix& to, int threads) {
  if (from.ld == from.cols && to.ld == to.cols) {
    cast({.n = from.rows * from.cols,
          .in = from.data,
          .in_dtype = from.dtype,
          .out = to.data,
          .out_dtype = to.dtype},
         threads);
    return;
  }
  for (int64_t row = 0; row < from.rows; ++row) {
    cast({.n = from.cols,
          .in = static_cast<const std::byte*>(from.data) + row * from.ld * size_of(from.dtype),
          .in_dtype = from.dtype,
          .out = static_cast<std::byte*>(to.data) + row * to.ld * size_of(to.dtype),
          .out_dtype = to.dtype},
         threads);
  }
}

int64_t aligned(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

Matrix widened(const Matrix& matrix, float* data) {
  return {data, DType::kF32, matrix.rows, matrix.cols, matrix.cols};
}

}  // namespace

class Matmul::Library {
 public:
  explicit Library(int threads)
      : threads_(threads),
        engine_(dnnl::engine::kind::cpu, 0),
        streams_(static_cast<size_t>(threads), dnnl::stream()),
        native_bf16_(multiplies_bf16()) {
    for (dnnl::stream& stream : streams_) stream = dnnl::stream(engine_);
  }

  void run(const MatmulArgs& args);
  void charge_to(MemoryLedger* ledger) {
    scratchpad_.charge_to(ledger);
    wide_.charge_to(ledger);
  }
  bool native(DType dtype) const { return dtype == DType::kF32 || (dtype == DType::kBF16 && native_bf16_); }

 private:
  struct Entry {
    dnnl::matmul primitive;
    dnnl::memory a, b, c, bias, scratchpad;
    int64_t scratchpad_bytes = 0;
  };
  // Shapes repeat from step to step; generation of text, whose lengths grow, is what the limit is for.
  static constexpr size_t kMostEntries = 4096;

  struct Call {
    Entry* entry;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  Entry& entry_of(const Key& key);
  // The pointers of this call are in the entry, but for the scratchpad's.
  Call prepare(const MatmulArgs& args, int part);
  void run_native(const MatmulArgs& args);
  void run_team(const std::vector<MatmulArgs>& parts);
  void run_widened(const MatmulArgs& args);

  int threads_;
  dnnl::engine engine_;
  std::vector<dnnl::stream> streams_;  // of each thread
  bool native_bf16_;
  std::unordered_map<Key, Entry, KeyHash> entries_;
  Scratch scratchpad_;
  Scratch wide_;
};

Matmul::Library::Entry& Matmul::Library::entry_of(const Key& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  if (entries_.size() >= kMostEntries) entries_.clear();

  const auto a = matrix_desc(key.rows, key.inner, key.lda, key.transpose_a, key.type);
  const auto b = matrix_desc(key.inner, key.cols, key.ldb, key.transpose_b, key.type);
  const auto c = matrix_desc(key.rows, key.cols, key.ldc, false, key.c_type);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (key.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  Entry entry;
  dnnl::matmul::primitive_desc description;
  if (key.bias) {
    const dnnl::memory::desc bias({1, key.cols}, library_type(key.type), dnnl::memory::dims{key.cols, 1});
    description = {dnnl::matmul::desc(a, b, bias, c), attributes, engine_};
    entry.bias = dnnl::memory(bias, engine_, nullptr);
  } else {
    description = {dnnl::matmul::desc(a, b, c), attributes, engine_};
  }
  entry.primitive = dnnl::matmul(description);
  entry.a = dnnl::memory(a, engine_, nullptr);
  entry.b = dnnl::memory(b, engine_, nullptr);
  entry.c = dnnl::memory(c, engine_, nullptr);
  entry.scratchpad = dnnl::memory(description.scratchpad_desc(), engine_, nullptr);
  entry.scratchpad_bytes = static_cast<int64_t>(description.scratchpad_desc().get_size());
  return entries_.emplace(key, std::move(entry)).first->second;
}

Matmul::Library::Call Matmul::Library::prepare(const MatmulArgs& args, int part) {
  Entry& entry = entry_of({.rows = args.c.rows,
                           .cols = args.c.cols,
                           .inner = args.transpose_a ? args.a.rows : args.a.cols,
                           .lda = args.a.ld,
                           .ldb = args.b.ld,
                           .ldc = args.c.ld,
                           .type = args.a.dtype,
                           .c_type = args.c.dtype,
                           .transpose_a = args.transpose_a,
                           .transpose_b = args.transpose_b,
                           .accumulate = args.accumulate,
                           .bias = args.bias != nullptr,
                           .part = part});
  entry.a.set_data_handle(args.a.data);
  entry.b.set_data_handle(args.b.data);
  entry.c.set_data_handle(args.c.data);
  Call call{&entry, {}};
  call.arguments = {{DNNL_ARG_SRC, entry.a},
                    {DNNL_ARG_WEIGHTS, entry.b},
                    {DNNL_ARG_DST, entry.c},
                    {DNNL_ARG_SCRATCHPAD, entry.scratchpad}};
  if (args.bias != nullptr) {
    // The library takes no pointer to const; it reads the bias only.
    entry.bias.set_data_handle(const_cast<void*>(args.bias));
    call.arguments.emplace(DNNL_ARG_BIAS, entry.bias);
  }
  return call;
}

void Matmul::Library::run_native(const MatmulArgs& args) {
  if (const std::vector<MatmulArgs> parts = cut_for_team(args, threads_); !parts.empty())
    return run_team(parts);
  for (const MatmulArgs& part : cut_for_cache(args)) {
    Call call = prepare(part, kWholeTeam);
    call.entry->scratchpad.set_data_handle(scratchpad_.reserve(call.entry->scratchpad_bytes));
    call.entry->primitive.execute(streams_.front(), call.arguments);
    streams_.front().wait();
  }
}

// Each thread multiplies one block by itself.
void Matmul::Library::run_team(const std::vector<MatmulArgs>& parts) {
  if (entries_.size() + parts.size() > kMostEntries) entries_.clear();
  std::vector<Call> calls;
  int64_t bytes = 0;
  omp_set_num_threads(1);  // what the library makes a primitive for
  for (size_t part = 0; part < parts.size(); ++part) {
    calls.push_back(prepare(parts[part], static_cast<int>(part)));
    bytes += aligned(calls.back().entry->scratchpad_bytes);
  }
  omp_set_num_threads(threads_);
  std::byte* scratchpad = static_cast<std::byte*>(scratchpad_.reserve(bytes));
  for (Call& call : calls) {
    call.entry->scratchpad.set_data_handle(scratchpad);
    scratchpad += aligned(call.entry->scratchpad_bytes);
  }
  std::exception_ptr error;
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(calls.size()))
  for (size_t part = 0; part < calls.size(); ++part) {
    try {
      calls[part].entry->primitive.execute(streams_[part], calls[part].arguments);
      streams_[part].wait();
    } catch (...) {
#pragma omp critical
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

void Matmul::Library::run_widened(const MatmulArgs& args) {
  const bool widen_c = args.c.dtype != DType::kF32;
  const int64_t bias_floats = args.bias != nullptr ? args.c.cols : 0;
  const int64_t a_floats = floats_of(args.a), b_floats = floats_of(args.b);
  float* a = wide_.reserve_floats(a_floats + b_floats + bias_floats + (widen_c ? floats_of(args.c) : 0));
  float* b = a + a_floats;
  float* bias = b + b_floats;
  MatmulArgs wide = args;
  wide.a = widened(args.a, a);
  wide.b = widened(args.b, b);
  convert_rows(args.a, wide.a, threads_);
  convert_rows(args.b, wide.b, threads_);
  if (args.bias != nullptr) {
    cast({.n = args.c.cols, .in = args.bias, .in_dtype = args.a.dtype, .out = bias, .out_dtype = DType::kF32},
         threads_);
    wide.bias = bias;
  }
  if (widen_c) {
    wide.c = widened(args.c, bias + bias_floats);
    if (args.accumulate) convert_rows(args.c, wide.c, threads_);
  }
  run_native(wide);
  if (widen_c) convert_rows(wide.c, args.c, threads_);
}

void Matmul::Library::run(const MatmulArgs& args) {
  // The size of oneDNN's team is a setting of the calling thread; a rank's thread may run backends of other
  // sizes.
  omp_set_num_threads(threads_);
  // oneDNN cuts its work for as many threads as are set; a smaller team would leave parts of it undone.
  omp_set_dynamic(0);
  if (native(args.a.dtype)) {
    run_native(args);
  } else {
    run_widened(args);
  }
}

Matmul::Matmul(int threads) : library_(std::make_unique<Library>(threads)) {}
Matmul::~Matmul() = default;

void Matmul::charge_to(MemoryLedger* ledger) {
  library_->charge_to(ledger);
}

void Matmul::run(const MatmulArgs& args) {
  check(args);
  if (args.c.rows == 0 || args.c.cols == 0) return;
  const int64_t inner = args.transpose_a ? args.a.rows : args.a.cols;
  if (inner == 0) {
    if (args.accumulate) return;
    // An empty sum: the bias alone, or zeros.
    const int64_t row_bytes = args.c.cols * size_of(args.c.dtype);
    for (int64_t row = 0; row < args.c.rows; ++row) {
      std::byte* out = static_cast<std::byte*>(args.c.data) + row * args.c.ld * size_of(args.c.dtype);
      std::memset(out, 0, static_cast<size_t>(row_bytes));
      if (args.bias != nullptr) {
        cast({.n = args.c.cols,
              .in = args.bias,
              .in_dtype = args.a.dtype,
              .out = out,
              .out_dtype = args.c.dtype},
             1);
      }
    }
    return;
  }
  library_->run(args);
}

std::string Matmul::path(DType dtype) const {
  if (library_->native(dtype)) return "oneDNN, " + std::string(name_of(dtype)) + " multiplied, f32 added";
  return "oneDNN, widened to f32";
}

}  // namespace octant::cpu
