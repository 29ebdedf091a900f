// A backend that runs everything through another one and adds up where the seconds went, by operation.
//
//   auto timed = std::make_unique<TimedBackend>(cpu::make_backend({.threads = 1}));
//   TimedBackend& clock = *timed;
//   Device device(std::move(timed), 0);
//   …
//   for (const auto& [operation, time] : clock.times()) …
//
// For backends whose operations have run when the call returns, as the CPU's have. Like any backend, one
// rank's.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string_view>

#include "core/backend.h"

namespace octant::bench {

struct OperationTime {
  double seconds = 0;
  double flops = 0;  // of matrix products; attention and the rest are not counted
  int64_t calls = 0;
};

class TimedBackend : public Backend {
 public:
  explicit TimedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  const std::map<std::string_view, OperationTime>& times() const { return times_; }
  void clear() { times_.clear(); }

  std::string name() const override { return inner_->name(); }
  std::vector<std::pair<std::string, std::string>> description() const override {
    return inner_->description();
  }
  int threads() const override { return inner_->threads(); }
  void charge_workspace_to(MemoryLedger* ledger) override { inner_->charge_workspace_to(ledger); }
  void* allocate(int64_t bytes) override { return inner_->allocate(bytes); }
  void free(void* data, int64_t bytes) override { inner_->free(data, bytes); }
  int64_t segment_bytes() const override { return inner_->segment_bytes(); }
  bool fresh_memory_is_zero(int64_t bytes) const override { return inner_->fresh_memory_is_zero(bytes); }
  void synchronize(Stream stream) override { inner_->synchronize(stream); }

  void copy(Stream stream, void* to, const void* from, int64_t bytes) override {
    timed("copy", [&] { inner_->copy(stream, to, from, bytes); });
  }
  void copy_from_host(Stream stream, void* to, const void* from, int64_t bytes) override {
    timed("copy", [&] { inner_->copy_from_host(stream, to, from, bytes); });
  }
  void copy_to_host(Stream stream, void* to, const void* from, int64_t bytes) override {
    timed("copy", [&] { inner_->copy_to_host(stream, to, from, bytes); });
  }
  void set_zero(Stream stream, void* data, int64_t bytes) override {
    timed("set_zero", [&] { inner_->set_zero(stream, data, bytes); });
  }
  void matmul(Stream stream, const MatmulArgs& args) override {
    // The three products of a linear layer are told apart by which operand is transposed.
    const std::string_view part = args.transpose_a   ? "matmul weight gradient"
                                  : args.transpose_b ? "matmul forward"
                                                     : "matmul input gradient";
    const int64_t inner = args.transpose_a ? args.a.rows : args.a.cols;
    timed(part, [&] { inner_->matmul(stream, args); }).flops += 2.0 * static_cast<double>(args.c.rows) *
                                                                static_cast<double>(args.c.cols) *
                                                                static_cast<double>(inner);
  }

#define OCTANT_TIMED(operation, Args)                            \
  void operation(Stream stream, const Args& args) override {     \
    timed(#operation, [&] { inner_->operation(stream, args); }); \
  }
  OCTANT_TIMED(bias_gradient, BiasGradientArgs)
  OCTANT_TIMED(norm_forward, NormForwardArgs)
  OCTANT_TIMED(norm_backward, NormBackwardArgs)
  OCTANT_TIMED(gelu_forward, GeluArgs)
  OCTANT_TIMED(gelu_backward, GeluArgs)
  OCTANT_TIMED(swiglu_forward, SwigluArgs)
  OCTANT_TIMED(swiglu_backward, SwigluArgs)
  OCTANT_TIMED(rotary, RotaryArgs)
  OCTANT_TIMED(attention_forward, AttentionForwardArgs)
  OCTANT_TIMED(attention_backward, AttentionBackwardArgs)
  OCTANT_TIMED(embedding_forward, EmbeddingForwardArgs)
  OCTANT_TIMED(embedding_backward, EmbeddingBackwardArgs)
  OCTANT_TIMED(position_forward, PositionForwardArgs)
  OCTANT_TIMED(position_backward, PositionBackwardArgs)
  OCTANT_TIMED(cross_entropy_max, CrossEntropyArgs)
  OCTANT_TIMED(cross_entropy_sum, CrossEntropyArgs)
  OCTANT_TIMED(cross_entropy_loss, CrossEntropyArgs)
  OCTANT_TIMED(cross_entropy_backward, CrossEntropyArgs)
  OCTANT_TIMED(dropout, DropoutArgs)
  OCTANT_TIMED(add, AddArgs)
  OCTANT_TIMED(cast, CastArgs)
  OCTANT_TIMED(reduce, ReduceArgs)
  OCTANT_TIMED(sum_squares, SumSquaresArgs)
  OCTANT_TIMED(adamw, AdamwArgs)
  OCTANT_TIMED(sgd, SgdArgs)
  OCTANT_TIMED(normal_fill, NormalFillArgs)
#undef OCTANT_TIMED

 private:
  using Clock = std::chrono::steady_clock;

  template <typename F>
  OperationTime& timed(std::string_view operation, F&& f) {
    const Clock::time_point begin = Clock::now();
    f();
    OperationTime& time = times_[operation];
    time.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    ++time.calls;
    return time;
  }

  std::unique_ptr<Backend> inner_;
  std::map<std::string_view, OperationTime> times_;
};

}  // namespace octant::bench
