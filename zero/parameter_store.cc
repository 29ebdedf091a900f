#include "zero/parameter_store.h"

#include <algorithm>
#include <numeric>

namespace octant {

ZeroParameterStore::ZeroParameterStore(TrainingState& state, ModelStage& stage, Communicator& data)
    : state_(state), stage_(stage), data_(data), gathered_(static_cast<size_t>(state.unit_count())) {
  const ZeroConfig& config = state.config();
  publish_of_.resize(gathered_.size());
  if ((config.stage == 1 || config.stage == 2) && data.size() > 1) {
    std::vector<int> order(gathered_.size());
    std::iota(order.begin(), order.end(), 0);
    publish_buckets_ =
        make_buckets(state.layouts(), order, data.size(), config.allgather_bucket, size_of(config.compute));
    for (size_t bucket = 0; bucket < publish_buckets_.size(); ++bucket)
      for (const BucketPiece& piece : publish_buckets_[bucket].pieces)
        publish_of_[static_cast<size_t>(piece.unit)].push_back(static_cast<int>(bucket));
    publish_works_.resize(publish_buckets_.size());
  }
}

void ZeroParameterStore::plan(std::vector<UnitUse> uses) {
  plan_ = std::move(uses);
  next_ = 0;
}

void ZeroParameterStore::acquire(const UnitUse& use) {
  const std::vector<int>& units = stage_.units()[static_cast<size_t>(use.unit)].parameter_units;
  if (state_.config().stage < 3) {
    for (int unit : units)
      for (int bucket : publish_of_[static_cast<size_t>(unit)])
        publish_works_[static_cast<size_t>(bucket)].wait();
    return;
  }
  if (next_ < plan_.size()) ++next_;
  for (int unit : units)
    if (!gathered_[static_cast<size_t>(unit)].present) start_gather(unit);
  if (state_.config().overlap) prefetch();
  for (int unit : units) finish_gather(unit);
}

void ZeroParameterStore::release(const UnitUse& use) {
  if (state_.config().stage < 3) return;
  const ReshardAfterForward policy = state_.config().reshard;
  if (policy == ReshardAfterForward::kNever) return;
  for (int unit : stage_.units()[static_cast<size_t>(use.unit)].parameter_units)
    if (policy == ReshardAfterForward::kAlways || !used_next(unit)) drop(unit);
}

bool ZeroParameterStore::used_next(int unit) const {
  if (next_ >= plan_.size()) return false;
  const std::vector<int>& units = stage_.units()[static_cast<size_t>(plan_[next_].unit)].parameter_units;
  return std::find(units.begin(), units.end(), unit) != units.end();
}

void ZeroParameterStore::prefetch() {
  const ZeroConfig& config = state_.config();
  const int64_t limit =
      config.allgather_bucket != 0 ? config.allgather_bucket : kAutoBucketBytes / size_of(config.compute);
  int64_t ahead = 0;
  for (size_t at = next_; at < plan_.size(); ++at) {
    for (int unit : stage_.units()[static_cast<size_t>(plan_[at].unit)].parameter_units) {
      if (gathered_[static_cast<size_t>(unit)].present) continue;
      const int64_t elements = state_.layouts()[static_cast<size_t>(unit)].padded;
      if (ahead != 0 && ahead + elements > limit) return;
      ahead += elements;
      start_gather(unit);
    }
    // One use ahead is always gathered; more only while they fit.
    if (ahead >= limit) return;
  }
}

void ZeroParameterStore::start_gather(int unit) {
  const ZeroConfig& config = state_.config();
  const FlatUnit& layout = state_.layouts()[static_cast<size_t>(unit)];
  Gathered& gathered = gathered_[static_cast<size_t>(unit)];
  gathered.present = true;
  if (data_.size() == 1) {
    gathered.whole = state_.unit(unit).parameters;
    return;
  }
  gathered.whole = state_.device().allocate({layout.padded}, config.compute, MemoryKind::kCommunication);
  for (const Bucket& bucket : make_buckets(state_.layouts(), {unit}, data_.size(), config.allgather_bucket,
                                           size_of(config.compute))) {
    const BucketPiece& at = bucket.pieces.front();
    const AllGatherPiece piece{.source = state_.unit(unit).parameters.flat(at.offset, at.count),
                               .target = gathered.whole.flat(at.offset, layout.padded - at.offset),
                               .stride = layout.slice,
                               .count = at.count};
    gathered.works.push_back(data_.all_gather(std::span(&piece, 1), {.purpose = "parameters"}));
    if (!config.overlap) gathered.works.back().wait();
  }
}

void ZeroParameterStore::finish_gather(int unit) {
  Gathered& gathered = gathered_[static_cast<size_t>(unit)];
  for (Work& work : gathered.works) work.wait();
  gathered.works.clear();
  state_.bind_values(unit, gathered.whole);
}

void ZeroParameterStore::drop(int unit) {
  Gathered& gathered = gathered_[static_cast<size_t>(unit)];
  if (!gathered.present) return;
  for (Work& work : gathered.works) work.wait();
  gathered.works.clear();
  state_.bind_values(unit, Tensor());
  gathered.whole.reset();
  gathered.present = false;
}

void ZeroParameterStore::publish() {
  if (state_.config().stage == 3) {
    for (int unit = 0; unit < state_.unit_count(); ++unit) drop(unit);
    return;
  }
  std::vector<AllGatherPiece> pieces;
  for (size_t index = 0; index < publish_buckets_.size(); ++index) {
    pieces.clear();
    for (const BucketPiece& at : publish_buckets_[index].pieces) {
      const FlatUnit& layout = state_.layouts()[static_cast<size_t>(at.unit)];
      const Tensor& whole = state_.unit(at.unit).parameters;
      pieces.push_back({.source = whole.flat(layout.slice * data_.rank() + at.offset, at.count),
                        .target = whole.flat(at.offset, layout.padded - at.offset),
                        .stride = layout.slice,
                        .count = at.count});
    }
    publish_works_[index] = data_.all_gather(pieces, {.purpose = "parameters"});
    if (!state_.config().overlap) publish_works_[index].wait();
  }
}

void ZeroParameterStore::settle() {
  for (Work& work : publish_works_) work.wait();
  if (state_.config().stage == 3)
    for (int unit = 0; unit < state_.unit_count(); ++unit) drop(unit);
  plan_.clear();
  next_ = 0;
}

}  // namespace octant
