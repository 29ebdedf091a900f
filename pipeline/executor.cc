#include "pipeline/executor.h"

#include <algorithm>

#include "megatron/context.h"

namespace octant {
namespace {

constexpr int kForwardTag = 0;
constexpr int kBackwardTag = 1;

}  // namespace

// The receives of one direction in the order of the schedule. The next is posted as soon as one has been
// taken, so that a neighbour's blocking send never waits for this stage's compute.
class Executor::Inbox {
 public:
  Inbox(const LayerContext& context, Communicator& pipeline, int from, int tag)
      : context_(context), pipeline_(pipeline), from_(from), tag_(tag) {}

  void expect(const MicroBatch* micro_batch) { coming_.push_back(micro_batch); }

  void post_next() {
    if (posted_ == coming_.size() || incoming_.tensor.defined()) return;
    const int64_t rows = context_.stream_rows(coming_[posted_]->token_count());
    incoming_.tensor = context_.activation({rows, width_});
    incoming_.work = pipeline_.receive(incoming_.tensor, from_, tag_, {.purpose = "activations"});
    ++posted_;
  }
  Tensor take() {
    post_next();
    incoming_.work.wait();
    Tensor tensor = std::move(incoming_.tensor);
    incoming_ = Incoming();
    post_next();
    return tensor;
  }
  void set_width(int64_t width) { width_ = width; }

 private:
  const LayerContext& context_;
  Communicator& pipeline_;
  int from_;
  int tag_;
  int64_t width_ = 0;
  std::vector<const MicroBatch*> coming_;
  size_t posted_ = 0;
  Incoming incoming_;
};

Executor::Executor(const LayerContext& context, ModelStage& stage, Communicator& pipeline)
    : context_(context),
      stage_(stage),
      pipeline_(pipeline),
      loss_(context.device->allocate_zeroed({1}, DType::kF64, MemoryKind::kWorkspace)) {
  stage_.set_loss(loss_);
}

LossSum Executor::run(const Schedule& schedule, const Batch& batch, ParameterStore& parameters,
                      GradientSink& gradients) {
  return execute(schedule, batch, parameters, &gradients);
}

LossSum Executor::evaluate(const Schedule& schedule, const Batch& batch, ParameterStore& parameters) {
  return execute(schedule, batch, parameters, nullptr);
}

std::vector<UnitUse> Executor::uses(const std::vector<Action>& actions) const {
  std::vector<UnitUse> plan;
  const int count = static_cast<int>(stage_.units().size());
  for (const Action& action : actions) {
    if (action.kind == ActionKind::kForward)
      for (int unit = 0; unit < count; ++unit) plan.push_back({unit, false});
    if (action.kind == ActionKind::kBackward)
      for (int unit = count - 1; unit >= 0; --unit)
        if (stage_.units()[static_cast<size_t>(unit)].backward_reads_parameters) plan.push_back({unit, true});
  }
  return plan;
}

LossSum Executor::execute(const Schedule& schedule, const Batch& batch, ParameterStore& parameters,
                          GradientSink* gradients) {
  const int at = pipeline_.rank();
  const std::vector<Action>& actions = schedule.actions[static_cast<size_t>(at)];
  const int count = schedule.micro_batches;
  const auto micro_batch = [&](const Action& action) -> const MicroBatch& {
    return batch.micro_batches[static_cast<size_t>(action.micro_batch)];
  };

  Inbox activations(context_, pipeline_, at - 1, kForwardTag),
      output_gradients(context_, pipeline_, at + 1, kBackwardTag);
  activations.set_width(stage_.config().hidden_size);
  output_gradients.set_width(stage_.config().hidden_size);
  for (const Action& action : actions) {
    if (action.kind == ActionKind::kReceiveForward) activations.expect(&micro_batch(action));
    if (action.kind == ActionKind::kReceiveBackward) output_gradients.expect(&micro_batch(action));
  }
  context_.ops().set_zero(context_.stream(), loss_.data(), loss_.bytes());
  parameters.plan(uses(actions));
  activations.post_next();
  output_gradients.post_next();

  LossSum result;
  int live = 0, backwards = 0;
  Tensor incoming, outgoing;  // what the last receive brought, what the last forward or backward made
  std::vector<Stash> stashes(static_cast<size_t>(count));
  std::deque<Work> sends;
  for (const Action& action : actions) {
    Stash& stash = stashes[static_cast<size_t>(action.micro_batch)];
    switch (action.kind) {
      case ActionKind::kReceiveForward:
        incoming = activations.take();
        break;
      case ActionKind::kReceiveBackward:
        incoming = output_gradients.take();
        break;
      case ActionKind::kSendForward:
        sends.push_back(pipeline_.send(outgoing, at + 1, kForwardTag, {.purpose = "activations"}));
        outgoing.reset();
        break;
      case ActionKind::kSendBackward:
        sends.push_back(pipeline_.send(outgoing, at - 1, kBackwardTag, {.purpose = "activations"}));
        outgoing.reset();
        break;
      case ActionKind::kForward:
        if (gradients == nullptr) stash = Stash(/*discard=*/true);
        result.peak_live_micro_batches = std::max(result.peak_live_micro_batches, ++live);
        outgoing = forward(std::move(incoming), micro_batch(action), stash, parameters);
        incoming.reset();
        if (gradients == nullptr) --live;
        break;
      case ActionKind::kBackward:
        outgoing = backward(std::move(incoming), micro_batch(action), stash, parameters, *gradients,
                            ++backwards == count);
        incoming.reset();
        if (!stash.empty()) throw BugError("a backward has left something in its stash");
        --live;
        break;
    }
    while (!sends.empty() && sends.front().done()) sends.pop_front();
  }
  for (Work& work : sends) work.wait();
  context_.ops().copy_to_host(context_.stream(), &result.value, loss_.data(), sizeof(double));
  context_.ops().synchronize(context_.stream());
  return result;
}

Tensor Executor::forward(Tensor x, const MicroBatch& micro_batch, Stash& stash, ParameterStore& parameters) {
  std::vector<Unit>& units = stage_.units();
  for (size_t unit = 0; unit < units.size(); ++unit) {
    const UnitUse use{static_cast<int>(unit), false};
    parameters.acquire(use);
    x = units[unit].module->forward(x, micro_batch, stash);
    parameters.release(use);
  }
  return x;
}

Tensor Executor::backward(Tensor dy, const MicroBatch& micro_batch, Stash& stash, ParameterStore& parameters,
                          GradientSink& gradients, bool last) {
  std::vector<Unit>& units = stage_.units();
  for (int unit = static_cast<int>(units.size()) - 1; unit >= 0; --unit) {
    Unit& at = units[static_cast<size_t>(unit)];
    const UnitUse use{unit, true};
    if (at.backward_reads_parameters) parameters.acquire(use);
    gradients.prepare(unit);
    dy = at.module->backward_input(dy, micro_batch, stash);
    gradients.ready(unit, last);
    if (at.backward_reads_parameters) parameters.release(use);
  }
  return dy;
}

}  // namespace octant
