#include "core/cpu/cpu_backend.h"

#include <fmt/format.h>
#include <omp.h>

#include <cstring>

#include "core/cpu/activation.h"
#include "core/cpu/attention.h"
#include "core/cpu/copy.h"
#include "core/cpu/cross_entropy.h"
#include "core/cpu/dropout.h"
#include "core/cpu/elementwise.h"
#include "core/cpu/embedding.h"
#include "core/cpu/instruction_set.h"
#include "core/cpu/matmul.h"
#include "core/cpu/norm.h"
#include "core/cpu/optimizer.h"
#include "core/cpu/parallel_for.h"
#include "core/cpu/random.h"
#include "core/cpu/rotary.h"
#include "core/cpu/scratch.h"
#include "core/cpu/sums.h"
#include "core/error.h"

namespace octant::cpu {
namespace {

constexpr int64_t kZeroGrain = int64_t{1} << 20;

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads) : threads_(threads), matmul_(threads) {}

  std::string name() const override { return "cpu"; }
  std::vector<std::pair<std::string, std::string>> description() const override {
    return {{"threads", std::to_string(threads_)},
            {"vector code", instruction_set()},
            {"matmul f32", matmul_.path(DType::kF32)},
            {"matmul bf16", matmul_.path(DType::kBF16)},
            {"matmul f16", matmul_.path(DType::kF16)}};
  }
  int threads() const override { return threads_; }
  void charge_workspace_to(MemoryLedger* ledger) override {
    matmul_.charge_to(ledger);
    scratch_.charge_to(ledger);
  }

  void* allocate(int64_t bytes) override { return allocate_aligned(bytes); }
  void free(void* data, int64_t bytes) override { free_aligned(data, bytes); }
  int64_t segment_bytes() const override { return physical_memory(); }
  bool fresh_memory_is_zero(int64_t bytes) const override { return is_mapped(bytes); }

  void copy(Stream, void* to, const void* from, int64_t bytes) override {
    copy_bytes(to, from, bytes, threads_);
  }
  void copy_from_host(Stream stream, void* to, const void* from, int64_t bytes) override {
    copy(stream, to, from, bytes);
  }
  void copy_to_host(Stream stream, void* to, const void* from, int64_t bytes) override {
    copy(stream, to, from, bytes);
  }
  void set_zero(Stream, void* data, int64_t bytes) override {
    parallel_for(threads_, bytes, kZeroGrain, [&](int64_t begin, int64_t end) {
      std::memset(static_cast<std::byte*>(data) + begin, 0, static_cast<size_t>(end - begin));
    });
  }
  void synchronize(Stream) override {}

  void matmul(Stream, const MatmulArgs& args) override { matmul_.run(args); }
  void bias_gradient(Stream, const BiasGradientArgs& args) override { cpu::bias_gradient(args, threads_); }
  void norm_forward(Stream, const NormForwardArgs& args) override { cpu::norm_forward(args, threads_); }
  void norm_backward(Stream, const NormBackwardArgs& args) override { cpu::norm_backward(args, threads_); }
  void gelu_forward(Stream, const GeluArgs& args) override { cpu::gelu_forward(args, threads_); }
  void gelu_backward(Stream, const GeluArgs& args) override { cpu::gelu_backward(args, threads_); }
  void swiglu_forward(Stream, const SwigluArgs& args) override { cpu::swiglu_forward(args, threads_); }
  void swiglu_backward(Stream, const SwigluArgs& args) override { cpu::swiglu_backward(args, threads_); }
  void rotary(Stream, const RotaryArgs& args) override { cpu::rotary(args, threads_, rotary_table_); }
  void attention_forward(Stream, const AttentionForwardArgs& args) override {
    cpu::attention_forward(args, threads_, scratch_);
  }
  void attention_backward(Stream, const AttentionBackwardArgs& args) override {
    cpu::attention_backward(args, threads_, scratch_);
  }
  void embedding_forward(Stream, const EmbeddingForwardArgs& args) override {
    cpu::embedding_forward(args, threads_);
  }
  void embedding_backward(Stream, const EmbeddingBackwardArgs& args) override {
    cpu::embedding_backward(args, threads_);
  }
  void position_forward(Stream, const PositionForwardArgs& args) override {
    cpu::position_forward(args, threads_);
  }
  void position_backward(Stream, const PositionBackwardArgs& args) override {
    cpu::position_backward(args, threads_);
  }
  void cross_entropy_statistics(Stream, const CrossEntropyArgs& args) override {
    cpu::cross_entropy_statistics(args, threads_);
  }
  void cross_entropy_rescale(Stream, const CrossEntropyArgs& args) override {
    cpu::cross_entropy_rescale(args);
  }
  void cross_entropy_loss(Stream, const CrossEntropyArgs& args) override { cpu::cross_entropy_loss(args); }
  void cross_entropy_backward(Stream, const CrossEntropyArgs& args) override {
    cpu::cross_entropy_backward(args, threads_);
  }
  void dropout(Stream, const DropoutArgs& args) override { cpu::dropout(args, threads_); }
  void add(Stream, const AddArgs& args) override { cpu::add(args, threads_); }
  void cast(Stream, const CastArgs& args) override { cpu::cast(args, threads_); }
  void reduce(Stream, const ReduceArgs& args) override { cpu::reduce(args, threads_); }
  void sum_squares(Stream, const SumSquaresArgs& args) override {
    cpu::sum_squares(args, threads_, scratch_);
  }
  void adamw(Stream, const AdamwArgs& args) override { cpu::adamw(args, threads_); }
  void sgd(Stream, const SgdArgs& args) override { cpu::sgd(args, threads_); }
  void normal_fill(Stream, const NormalFillArgs& args) override { cpu::normal_fill(args, threads_); }

 private:
  int threads_;
  Matmul matmul_;
  RotaryTable rotary_table_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const Options& options) {
  if (options.threads < 1) {
    throw UserError(fmt::format("the CPU backend was given threads={}; use 1 or more", options.threads));
  }
  if (omp_get_thread_limit() < options.threads) {
    throw UserError(
        fmt::format("OMP_THREAD_LIMIT={} is below the {} threads of a rank; unset it, or set "
                    "device.threads_per_rank to at "
                    "most {}",
                    omp_get_thread_limit(), options.threads, omp_get_thread_limit()));
  }
  return std::make_unique<CpuBackend>(options.threads);
}

}  // namespace octant::cpu
