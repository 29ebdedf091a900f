#include "zero/gradient_reducer.h"

#include <algorithm>
#include <utility>

namespace octant {

GradientReducer::GradientReducer(TrainingState& state, ModelStage& stage, Communicator& data)
    : state_(state), stage_(stage), data_(data) {
  const size_t count = static_cast<size_t>(state.unit_count());
  last_site_.assign(count, -1);
  passing_.resize(count);
  buckets_of_.resize(count);
  std::vector<int> order;  // backward order of the last sites
  for (int unit = static_cast<int>(stage.units().size()) - 1; unit >= 0; --unit)
    for (int index : stage.units()[static_cast<size_t>(unit)].parameter_units)
      last_site_[static_cast<size_t>(index)] = unit;
  for (int unit = static_cast<int>(stage.units().size()) - 1; unit >= 0; --unit)
    for (int index : stage.units()[static_cast<size_t>(unit)].parameter_units)
      if (last_site_[static_cast<size_t>(index)] == unit) order.push_back(index);
  if (data.size() == 1) return;
  for (Bucket& bucket : make_buckets(state.layouts(), order, data.size(), state.config().reduce_bucket,
                                     size_of(state.config().gradients))) {
    BucketState entry;
    entry.bucket = std::move(bucket);
    for (const BucketPiece& piece : entry.bucket.pieces) {
      std::vector<int>& of = buckets_of_[static_cast<size_t>(piece.unit)];
      of.push_back(static_cast<int>(buckets_.size()));
      ++entry.units;
    }
    entry.waiting = entry.units;
    buckets_.push_back(std::move(entry));
  }
}

bool GradientReducer::passing() const {
  return state_.config().reduce_every == ReduceCadence::kMicroBatch && data_.size() > 1;
}

void GradientReducer::begin_step() {
  for (BucketState& bucket : buckets_) bucket.first = true;
  if (passing()) return;
  for (int index = 0; index < state_.unit_count(); ++index) mark_fresh(index);
}

void GradientReducer::mark_fresh(int index) {
  for (const FlatRange& range : state_.layouts()[static_cast<size_t>(index)].ranges)
    range.parameter->gradient_is_fresh = true;
}

void GradientReducer::clear_untouched(int index) {
  for (const FlatRange& range : state_.layouts()[static_cast<size_t>(index)].ranges) {
    if (range.parameter->accumulates()) continue;
    const Tensor& gradient = range.parameter->gradient;
    state_.device().ops().set_zero(state_.device().compute(), gradient.data(), gradient.bytes());
  }
}

void GradientReducer::prepare(int unit) {
  if (!passing()) return;
  for (int index : stage_.units()[static_cast<size_t>(unit)].parameter_units) {
    Passing& passing = passing_[static_cast<size_t>(index)];
    if (passing.filling) continue;  // a tied unit at its second site
    // What the micro-batch before left under way must arrive first: sums keep the order of micro-batches.
    for (int bucket : buckets_of_[static_cast<size_t>(index)])
      complete(buckets_[static_cast<size_t>(bucket)]);
    const FlatUnit& layout = state_.layouts()[static_cast<size_t>(index)];
    passing.buffer =
        state_.device().allocate({layout.padded}, state_.config().gradients, MemoryKind::kCommunication);
    const Tensor padding = passing.buffer.flat(layout.elements, layout.padded - layout.elements);
    state_.device().ops().set_zero(state_.device().compute(), padding.data(), padding.bytes());
    passing.filling = true;
    passing.pending = static_cast<int>(buckets_of_[static_cast<size_t>(index)].size());
    state_.bind_gradients(index, passing.buffer);
    mark_fresh(index);
  }
}

void GradientReducer::ready(int unit, bool last) {
  if (!passing() && !last) return;
  for (int index : stage_.units()[static_cast<size_t>(unit)].parameter_units)
    if (last_site_[static_cast<size_t>(index)] == unit) clear_untouched(index);
  if (data_.size() == 1) return;
  for (int index : stage_.units()[static_cast<size_t>(unit)].parameter_units)
    if (last_site_[static_cast<size_t>(index)] == unit) parameter_unit_ready(index);
  data_.poll();
}

void GradientReducer::parameter_unit_ready(int unit) {
  passing_[static_cast<size_t>(unit)].filling = false;
  // Counted in all its buckets before any leaves: a bucket that completes at once must not free a buffer that
  // another still needs.
  for (int index : buckets_of_[static_cast<size_t>(unit)]) --buckets_[static_cast<size_t>(index)].waiting;
  for (int index : buckets_of_[static_cast<size_t>(unit)]) {
    BucketState& bucket = buckets_[static_cast<size_t>(index)];
    if (bucket.waiting == 0) launch(bucket);
  }
}

void GradientReducer::launch(BucketState& bucket) {
  const bool whole = state_.config().stage == 0;
  std::vector<ReduceScatterPiece> pieces;
  std::vector<Tensor> tensors;
  for (const BucketPiece& at : bucket.bucket.pieces) {
    const FlatUnit& layout = state_.layouts()[static_cast<size_t>(at.unit)];
    const Tensor& source =
        passing() ? passing_[static_cast<size_t>(at.unit)].buffer : state_.unit(at.unit).gradients;
    if (whole) {
      if (at.count == layout.slice) {
        tensors.push_back(source);
      } else {
        for (int rank = 0; rank < data_.size(); ++rank)
          tensors.push_back(source.flat(layout.slice * rank + at.offset, at.count));
      }
      continue;
    }
    const FlatCut own = state_.slice(at.unit);
    pieces.push_back(
        {.source = source.flat(at.offset, layout.padded - at.offset),
         .stride = layout.slice,
         .count = at.count,
         .target = state_.gradient_range(at.unit, {own.first + at.offset, own.first + at.offset + at.count}),
         .accumulate = passing() && !bucket.first});
  }
  bucket.work = whole ? data_.all_reduce(tensors, ReduceOp::kSum, {.purpose = "gradients"})
                      : data_.reduce_scatter(pieces, {.purpose = "gradients"});
  bucket.waiting = bucket.units;
  bucket.under_way = true;
  if (!state_.config().overlap) complete(bucket);
}

void GradientReducer::complete(BucketState& bucket) {
  if (!bucket.under_way) return;
  bucket.work.wait();
  bucket.under_way = false;
  const bool first = std::exchange(bucket.first, false);
  if (!passing()) return;
  for (const BucketPiece& at : bucket.bucket.pieces) {
    Passing& passing = passing_[static_cast<size_t>(at.unit)];
    if (state_.config().stage == 0) add_to_whole(at, passing.buffer, !first);
    if (--passing.pending > 0) continue;
    passing.buffer.reset();
    state_.bind_gradients(at.unit, state_.whole_gradients() ? state_.unit(at.unit).gradients : Tensor());
  }
}

void GradientReducer::add_to_whole(const BucketPiece& at, const Tensor& sums, bool accumulate) {
  const FlatUnit& layout = state_.layouts()[static_cast<size_t>(at.unit)];
  for (int rank = 0; rank < data_.size(); ++rank) {
    const int64_t first = layout.slice * rank + at.offset;
    const Tensor target = state_.unit(at.unit).gradients.flat(first, at.count);
    state_.device().ops().cast(state_.device().compute(), {.n = at.count,
                                                           .in = sums.flat(first, at.count).data(),
                                                           .in_dtype = sums.dtype(),
                                                           .out = target.data(),
                                                           .out_dtype = target.dtype(),
                                                           .accumulate = accumulate});
  }
}

void GradientReducer::finish() {
  for (BucketState& bucket : buckets_) complete(bucket);
}

}  // namespace octant
