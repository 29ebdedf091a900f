// A backend that runs everything through another one and keeps account of it: calls, seconds, FLOPs and bytes
// by operation, and each call with its time for a trace.
//
//   auto profiled = std::make_unique<ProfilingBackend>(cpu::make_backend({.threads = 1}));
//   ProfilingBackend& accounts = *profiled;
//   Device device(std::move(profiled), 0);
//   accounts.start(/*most_events=*/100'000);
//   …
//   accounts.stop();
//   for (size_t i = 0; i < accounts.totals().size(); ++i) … ProfilingBackend::name(i) …
//
// For backends whose operations have run when the call returns, as the CPU's have. Like any backend, one
// rank's. Between start and stop nothing is allocated: events past `most_events` are counted in the totals and
// in lost_events, but not kept.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/backend.h"
#include "core/operation_cost.h"

namespace octant {

class ProfilingBackend final : public Backend {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Operation : uint8_t {
    kMatmulForward,
    kMatmulInputGradient,
    kMatmulWeightGradient,
    kBiasGradient,
    kNormForward,
    kNormBackward,
    kGeluForward,
    kGeluBackward,
    kSwigluForward,
    kSwigluBackward,
    kRotary,
    kAttentionForward,
    kAttentionBackward,
    kEmbeddingForward,
    kEmbeddingBackward,
    kPositionForward,
    kPositionBackward,
    kCrossEntropyStatistics,
    kCrossEntropyRescale,
    kCrossEntropyLoss,
    kCrossEntropyBackward,
    kDropout,
    kAdd,
    kCast,
    kReduce,
    kSumSquares,
    kAdamw,
    kSgd,
    kNormalFill,
    kCopy,
    kSetZero
  };
  static constexpr size_t kOperations = static_cast<size_t>(Operation::kSetZero) + 1;
  static std::string_view name(Operation operation);

  struct Total {
    int64_t calls = 0;
    double seconds = 0;
    OperationCost cost;
  };
  struct Event {
    Operation operation{};
    Clock::time_point begin, end;
    OperationCost cost;
  };

  explicit ProfilingBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  // Forgets what was counted and counts from here on.
  void start(int64_t most_events);
  void stop() { counting_ = false; }
  // Goes on counting where stop left off.
  void resume() { counting_ = true; }
  const std::array<Total, kOperations>& totals() const { return totals_; }
  const std::vector<Event>& events() const { return events_; }
  int64_t lost_events() const { return lost_events_; }

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
    counted(Operation::kCopy, {.bytes = 2.0 * static_cast<double>(bytes)},
            [&] { inner_->copy(stream, to, from, bytes); });
  }
  void copy_from_host(Stream stream, void* to, const void* from, int64_t bytes) override {
    counted(Operation::kCopy, {.bytes = 2.0 * static_cast<double>(bytes)},
            [&] { inner_->copy_from_host(stream, to, from, bytes); });
  }
  void copy_to_host(Stream stream, void* to, const void* from, int64_t bytes) override {
    counted(Operation::kCopy, {.bytes = 2.0 * static_cast<double>(bytes)},
            [&] { inner_->copy_to_host(stream, to, from, bytes); });
  }
  void set_zero(Stream stream, void* data, int64_t bytes) override {
    counted(Operation::kSetZero, {.bytes = static_cast<double>(bytes)},
            [&] { inner_->set_zero(stream, data, bytes); });
  }
  void matmul(Stream stream, const MatmulArgs& args) override {
    // The three products of a linear layer are told apart by which operand is transposed.
    const Operation part = args.transpose_a   ? Operation::kMatmulWeightGradient
                           : args.transpose_b ? Operation::kMatmulForward
                                              : Operation::kMatmulInputGradient;
    counted(part, cost_of(args), [&] { inner_->matmul(stream, args); });
  }

#define OCTANT_COUNTED(operation, Args, id, cost)                                 \
  void operation(Stream stream, const Args& args) override {                      \
    counted(Operation::id, cost(args), [&] { inner_->operation(stream, args); }); \
  }
  OCTANT_COUNTED(bias_gradient, BiasGradientArgs, kBiasGradient, cost_of)
  OCTANT_COUNTED(norm_forward, NormForwardArgs, kNormForward, forward_cost)
  OCTANT_COUNTED(norm_backward, NormBackwardArgs, kNormBackward, backward_cost)
  OCTANT_COUNTED(gelu_forward, GeluArgs, kGeluForward, forward_cost)
  OCTANT_COUNTED(gelu_backward, GeluArgs, kGeluBackward, backward_cost)
  OCTANT_COUNTED(swiglu_forward, SwigluArgs, kSwigluForward, forward_cost)
  OCTANT_COUNTED(swiglu_backward, SwigluArgs, kSwigluBackward, backward_cost)
  OCTANT_COUNTED(rotary, RotaryArgs, kRotary, cost_of)
  OCTANT_COUNTED(attention_forward, AttentionForwardArgs, kAttentionForward, forward_cost)
  OCTANT_COUNTED(attention_backward, AttentionBackwardArgs, kAttentionBackward, backward_cost)
  OCTANT_COUNTED(embedding_forward, EmbeddingForwardArgs, kEmbeddingForward, forward_cost)
  OCTANT_COUNTED(embedding_backward, EmbeddingBackwardArgs, kEmbeddingBackward, backward_cost)
  OCTANT_COUNTED(position_forward, PositionForwardArgs, kPositionForward, forward_cost)
  OCTANT_COUNTED(position_backward, PositionBackwardArgs, kPositionBackward, backward_cost)
  OCTANT_COUNTED(cross_entropy_statistics, CrossEntropyArgs, kCrossEntropyStatistics, forward_cost)
  OCTANT_COUNTED(cross_entropy_rescale, CrossEntropyArgs, kCrossEntropyRescale,
                 [](const auto&) { return OperationCost(); })
  OCTANT_COUNTED(cross_entropy_loss, CrossEntropyArgs, kCrossEntropyLoss,
                 [](const auto&) { return OperationCost(); })
  OCTANT_COUNTED(cross_entropy_backward, CrossEntropyArgs, kCrossEntropyBackward, backward_cost)
  OCTANT_COUNTED(dropout, DropoutArgs, kDropout, cost_of)
  OCTANT_COUNTED(add, AddArgs, kAdd, cost_of)
  OCTANT_COUNTED(cast, CastArgs, kCast, cost_of)
  OCTANT_COUNTED(reduce, ReduceArgs, kReduce, cost_of)
  OCTANT_COUNTED(sum_squares, SumSquaresArgs, kSumSquares, cost_of)
  OCTANT_COUNTED(adamw, AdamwArgs, kAdamw, cost_of)
  OCTANT_COUNTED(sgd, SgdArgs, kSgd, cost_of)
  OCTANT_COUNTED(normal_fill, NormalFillArgs, kNormalFill, cost_of)
#undef OCTANT_COUNTED

 private:
  template <typename F>
  void counted(Operation operation, OperationCost cost, F&& run) {
    if (!counting_) return run();
    const Clock::time_point begin = Clock::now();
    run();
    keep({operation, begin, Clock::now(), cost});
  }
  void keep(const Event& event);

  std::unique_ptr<Backend> inner_;
  bool counting_ = false;
  std::array<Total, kOperations> totals_{};
  std::vector<Event> events_;
  size_t most_events_ = 0;
  int64_t lost_events_ = 0;
};

}  // namespace octant
