#include "core/profiling_backend.h"

namespace octant {

std::string_view ProfilingBackend::name(Operation operation) {
  static constexpr std::array<std::string_view, kOperations> kNames = {"matmul forward",
                                                                       "matmul input gradient",
                                                                       "matmul weight gradient",
                                                                       "bias_gradient",
                                                                       "norm_forward",
                                                                       "norm_backward",
                                                                       "gelu_forward",
                                                                       "gelu_backward",
                                                                       "swiglu_forward",
                                                                       "swiglu_backward",
                                                                       "rotary",
                                                                       "attention_forward",
                                                                       "attention_backward",
                                                                       "embedding_forward",
                                                                       "embedding_backward",
                                                                       "position_forward",
                                                                       "position_backward",
                                                                       "cross_entropy_statistics",
                                                                       "cross_entropy_rescale",
                                                                       "cross_entropy_loss",
                                                                       "cross_entropy_backward",
                                                                       "dropout",
                                                                       "add",
                                                                       "cast",
                                                                       "reduce",
                                                                       "sum_squares",
                                                                       "adamw",
                                                                       "sgd",
                                                                       "normal_fill",
                                                                       "copy",
                                                                       "set_zero"};
  return kNames[static_cast<size_t>(operation)];
}

void ProfilingBackend::start(int64_t most_events) {
  totals_ = {};
  events_.clear();
  events_.reserve(static_cast<size_t>(most_events));
  most_events_ = static_cast<size_t>(most_events);
  lost_events_ = 0;
  counting_ = true;
}

void ProfilingBackend::keep(const Event& event) {
  Total& total = totals_[static_cast<size_t>(event.operation)];
  ++total.calls;
  total.seconds += std::chrono::duration<double>(event.end - event.begin).count();
  total.cost.flops += event.cost.flops;
  total.cost.bytes += event.cost.bytes;
  if (events_.size() < most_events_) {
    events_.push_back(event);
  } else {
    ++lost_events_;
  }
}

}  // namespace octant
