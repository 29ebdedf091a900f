#include "data/training_order.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "data/sample_order.h"

namespace octant {

namespace {

std::vector<double> weights_of(const std::vector<TrainingOrder::Source>& sources) {
  std::vector<double> weights;
  for (const auto& source : sources) weights.push_back(source.weight);
  return weights;
}

}  // namespace

TrainingOrder::TrainingOrder(uint64_t seed, std::vector<Source> sources)
    : seed_(seed), sources_(std::move(sources)), blend_(weights_of(sources_)) {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].weight > 0 && sources_[i].windows < 1)
      throw BugError("a source with a weight has no window");
    int64_t earlier = 0;
    for (size_t j = 0; j < i; ++j)
      earlier += sources_[j].weight > 0 && sources_[j].fingerprint == sources_[i].fingerprint;
    occurrences_.push_back(earlier);
  }
}

void TrainingOrder::samples(int64_t begin, std::span<Sample> out) const {
  std::array<Blend::Draw, 256> draws;
  for (size_t done = 0; done < out.size();) {
    const size_t now = std::min(draws.size(), out.size() - done);
    blend_.draws(begin + static_cast<int64_t>(done), std::span(draws).first(now));
    for (size_t k = 0; k < now; ++k) {
      const auto source = static_cast<size_t>(draws[k].source);
      const Source& from = sources_[source];
      const int64_t epoch = draws[k].index / from.windows;
      const Permutation permutation(order_key(seed_, from.fingerprint, epoch, occurrences_[source]),
                                    from.windows);
      out[done + k] = {draws[k].source, permutation(draws[k].index % from.windows)};
    }
    done += now;
  }
}

}  // namespace octant
