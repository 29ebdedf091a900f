#include <array>

#include "tests/ops/support.h"

namespace octant::test {
namespace {

OCTANT_OPS_SUITE(CrossEntropyTest);

double loss_of(const Values& logits, int64_t target) {
  double max = -INFINITY, sum = 0;
  for (double value : logits) max = std::max(max, value);
  for (double value : logits) sum += std::exp(value - max);
  return std::log(sum) + max - logits[target];
}

struct Result {
  double loss;
  Values dlogits;  // (rows, vocabulary)
};

// A vocabulary cut over `ranks`, as the tensor axis cuts it: the local pieces, joined between them by maximum
// and sum.
Result run(Backend& ops, const Values& logits, const std::vector<int32_t>& targets,
           const std::vector<uint8_t>& mask, int64_t vocabulary, int64_t ranks, int64_t padding, DType dtype,
           bool in_place, float scale) {
  const int64_t rows = static_cast<int64_t>(targets.size());
  const int64_t cols = (vocabulary + ranks - 1) / ranks + padding, ld = cols + (in_place ? 0 : 2);
  const Array<int32_t> ids(ops, targets);
  const Array<uint8_t> counted(ops, mask);
  std::vector<std::unique_ptr<Buffer>> parts, maxima, sums, hits, gradients;
  std::vector<CrossEntropyArgs> args;
  Array<double> loss(ops, {0.5});
  Values max(rows, -INFINITY), sum(rows), hit(rows);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t first = rank * (cols - padding),
                  valid = std::clamp<int64_t>(vocabulary - first, 0, cols - padding);
    // Padding columns hold what would win if it took part.
    Values part(rows * ld, 1e30);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < valid; ++j) part[r * ld + j] = logits[r * vocabulary + first + j];
    }
    parts.push_back(std::make_unique<Buffer>(ops, DType::kF32, part));
    maxima.push_back(std::make_unique<Buffer>(ops, DType::kF32, Values(rows)));
    sums.push_back(std::make_unique<Buffer>(ops, DType::kF32, Values(rows)));
    hits.push_back(std::make_unique<Buffer>(ops, DType::kF32, Values(rows)));
    gradients.push_back(std::make_unique<Buffer>(ops, dtype, Values(rows * ld, 7.0)));
    args.push_back({.rows = rows,
                    .valid = valid,
                    .cols = cols,
                    .ld = ld,
                    .first_id = first,
                    .logits = parts.back()->floats(),
                    .targets = ids.data(),
                    .mask = counted.data(),
                    .local_max = maxima.back()->floats(),
                    .max = maxima.back()->floats(),
                    .sum = sums.back()->floats(),
                    .target = hits.back()->floats(),
                    .loss = loss.data(),
                    .scale = scale,
                    .dlogits = in_place ? parts.back()->data() : gradients.back()->data(),
                    .dlogits_ld = ld,
                    .dlogits_dtype = dtype});
    ops.cross_entropy_statistics({}, args.back());
    const Values local = maxima.back()->read();
    if (valid == 0) {
      EXPECT_EQ(local, Values(rows, -INFINITY));
    }
    for (int64_t r = 0; r < rows; ++r) max[r] = local[r] > max[r] || std::isnan(local[r]) ? local[r] : max[r];
  }
  const Buffer global_max(ops, DType::kF32, max);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    args[rank].max = global_max.floats();
    if (ranks > 1) ops.cross_entropy_rescale({}, args[rank]);
    const Values local_sum = sums[rank]->read(), local_hit = hits[rank]->read();
    for (int64_t r = 0; r < rows; ++r) {
      sum[r] += local_sum[r];
      hit[r] += local_hit[r];
    }
  }
  const Buffer global_sum(ops, DType::kF32, sum), global_hit(ops, DType::kF32, hit);
  Result result{0, Values(rows * vocabulary)};
  for (int64_t rank = 0; rank < ranks; ++rank) {
    args[rank].sum = global_sum.floats();
    args[rank].target = global_hit.floats();
    if (rank == 0) ops.cross_entropy_loss({}, args[rank]);
    ops.cross_entropy_backward({}, args[rank]);
    const Values local = in_place ? parts[rank]->read() : gradients[rank]->read();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < ld; ++j) {
        const double value = local[r * ld + j];
        if (j < args[rank].valid) {
          result.dlogits[r * vocabulary + args[rank].first_id + j] = value;
        } else {
          EXPECT_EQ(value, j < cols ? 0.0 : 7.0) << "column " << j << " is padding, or past the columns";
        }
      }
    }
  }
  result.loss = loss.read()[0] - 0.5;
  return result;
}

TEST_P(CrossEntropyTest, LossAndDerivativeOverAnyCut) {
  for (int64_t vocabulary : kOddSizes) {
    for (int64_t ranks : {1, 2, 3}) {
      for (DType dtype : kComputeTypes) {
        for (bool in_place : {false, true}) {
          if (in_place && dtype != DType::kF32) continue;
          const int64_t rows = 5;
          Values logits = random_values(rows * vocabulary, 61, 8.0);
          for (double& value : logits) value = static_cast<float>(value);
          std::vector<int32_t> targets;
          for (int64_t r = 0; r < rows; ++r)
            targets.push_back(static_cast<int32_t>((r * 101 + vocabulary - 1) % vocabulary));
          const std::vector<uint8_t> mask = {1, 0, 1, 1, 0};
          const float scale = 0.25f;
          const Result got = run(ops(), logits, targets, mask, vocabulary, ranks, 3, dtype, in_place, scale);
          double loss = 0;
          Values expected(rows * vocabulary);
          for (int64_t r = 0; r < rows; ++r) {
            if (mask[r] == 0) continue;
            const Values row(logits.begin() + r * vocabulary, logits.begin() + (r + 1) * vocabulary);
            loss += loss_of(row, targets[r]);
            const Values gradient =
                numeric_gradient(row, [&](const Values& x) { return scale * loss_of(x, targets[r]); });
            std::copy(gradient.begin(), gradient.end(), expected.begin() + r * vocabulary);
          }
          const std::string what = label(dtype, {vocabulary, ranks, in_place});
          EXPECT_NEAR(got.loss, loss, 1e-6 * (1.0 + loss)) << what;
          expect_close(got.dlogits, expected, dtype, {0.25}, 16.0, what);
        }
      }
    }
  }
}

TEST_P(CrossEntropyTest, FarLogitsAndNan) {
  const Values logits = {1e4, -1e4, 0.0, 1e4};
  const Result got = run(ops(), logits, {1}, {1}, 4, 1, 0, DType::kF32, false, 1.0f);
  EXPECT_NEAR(got.loss, 2e4 + std::log(2.0), 1e-2);
  EXPECT_EQ(got.dlogits[1], -1.0);
  EXPECT_NEAR(got.dlogits[0], 0.5, 1e-6);
  for (int64_t ranks : {1, 2}) {
    for (int at : {0, 3}) {
      Values broken(20, 0.5);
      broken[at] = std::nan("");
      EXPECT_TRUE(std::isnan(run(ops(), broken, {1}, {1}, 20, ranks, 0, DType::kF32, false, 1.0f).loss));
      // A masked row never takes part.
      const Result masked = run(ops(), broken, {1}, {0}, 20, ranks, 0, DType::kF32, false, 1.0f);
      EXPECT_EQ(masked.loss, 0.0);
      EXPECT_EQ(masked.dlogits, Values(20, 0.0));
    }
  }
}

// One rank's largest logit may be far above the other's, which must not overflow or vanish on the way.
TEST_P(CrossEntropyTest, RanksWhoseLogitsAreFarApart) {
  for (double far : {-double{INFINITY}, -1e4, -90.0, 90.0, 1e4}) {
    const Values logits = {far, far, 1.0, 2.0};
    for (int32_t target : {1, 3}) {
      const Result got = run(ops(), logits, {target}, {1}, 4, 2, 1, DType::kF32, false, 1.0f);
      const double loss = loss_of(logits, target);
      if (std::isinf(loss)) {
        EXPECT_EQ(got.loss, loss) << far;
      } else {
        EXPECT_NEAR(got.loss, loss, 1e-6 * (1.0 + loss)) << far << ", target " << target;
      }
      for (int j = 0; j < 4; ++j) {
        const double gradient = std::exp(-loss_of(logits, j)) - (j == target ? 1.0 : 0.0);
        EXPECT_NEAR(got.dlogits[j], gradient, 1e-6) << far << ", target " << target << ", column " << j;
      }
    }
  }
}

}  // namespace
}  // namespace octant::test
