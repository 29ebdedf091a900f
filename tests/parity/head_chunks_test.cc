// The head computes its logits a chunk of tokens after another: how many must not matter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/cpu/cpu_backend.h"
#include "megatron/vocabulary.h"
#include "models/parameter_specs.h"
#include "parallel/world.h"

namespace octant {
namespace {

constexpr int64_t kBatch = 3, kSequence = 7, kRows = kBatch * kSequence, kWidth = 24, kVocabulary = 257;

struct Result {
  double loss = 0, loss_alone = 0;
  std::vector<float> dx, dtable;
};

// Without a sine's regularity the softmax would hide errors of place.
float value_at(int64_t i, double factor) {
  return static_cast<float>(
      factor * std::sin(0.37 * static_cast<double>(i) + 0.001 * static_cast<double>(i * i % 977)));
}

std::vector<float> widened(Device& device, const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  device.ops().cast(
      {}, {.n = tensor.elements(), .in = tensor.data(), .in_dtype = tensor.dtype(), .out = values.data()});
  return values;
}

Tensor filled(Device& device, const Shape& shape, DType dtype, double factor, int64_t first) {
  const Tensor tensor = device.allocate(shape, dtype, MemoryKind::kActivations);
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = value_at(first + static_cast<int64_t>(i), factor);
  device.ops().cast({},
                    {.n = tensor.elements(), .in = values.data(), .out = tensor.data(), .out_dtype = dtype});
  return tensor;
}

// Rank 0's result: loss and dx are the same on all, dtable is its piece.
Result run(int tensor_ranks, DType compute, int64_t rows_of_a_chunk, bool fresh) {
  Result result;
  const auto device = [](int) {
    return std::make_unique<Device>(cpu::make_backend({.threads = 1}), /*memory_limit=*/0);
  };
  const WorldResult ended = threads::run(tensor_ranks, {}, device, [&](World& world) {
    Device& device_of_rank = world.device();
    LayerContext context;
    context.device = &device_of_rank;
    context.tensor = &world.communicator();
    context.compute = compute;
    context.loss_seed = 0.5f;
    ModelConfig config{.num_layers = 1, .hidden_size = kWidth, .vocab_size = kVocabulary};
    const int64_t padded = (kVocabulary + tensor_ranks - 1) / tensor_ranks * tensor_ranks;
    Parameter table(word_table_spec(config, {.padded_vocab = padded}, /*head=*/true), world.rank(),
                    tensor_ranks);
    const int64_t local = table.local_shape()[0], stride = (local + 63) / 64 * 64;
    if (rows_of_a_chunk > 0) context.largest_logits = rows_of_a_chunk * stride * 4;
    table.value = filled(device_of_rank, table.local_shape(), compute, 0.5, world.rank() * local * kWidth);
    table.gradient = filled(device_of_rank, table.local_shape(), DType::kF32, fresh ? 1e30 : 0.25, 5);
    table.gradient_is_fresh = fresh;
    const Tensor x = filled(device_of_rank, {kRows, kWidth}, compute, 1.0, 11);

    MicroBatch micro_batch;
    micro_batch.targets = device_of_rank.allocate({kBatch, kSequence}, DType::kI32, MemoryKind::kData);
    micro_batch.mask = device_of_rank.allocate({kBatch, kSequence}, DType::kU8, MemoryKind::kData);
    for (int64_t i = 0; i < kRows; ++i) {
      micro_batch.targets.as<int32_t>()[i] = static_cast<int32_t>(i * 97 % kVocabulary);
      micro_batch.mask.as<uint8_t>()[i] = i % 5 != 2;
    }
    const VocabParallelHead head(context, &table);
    const Tensor loss = device_of_rank.allocate_zeroed({2}, DType::kF64, MemoryKind::kWorkspace);
    const Tensor dx = head.loss_and_gradients(x, micro_batch, loss.flat(0, 1));
    head.loss(x, micro_batch, loss.flat(1, 1));
    if (world.rank() != 0) return;
    result = {loss.as<double>()[0], loss.as<double>()[1], widened(device_of_rank, dx),
              widened(device_of_rank, table.gradient)};
  });
  EXPECT_EQ(ended.exit_code, 0) << ended.message;
  return result;
}

void expect_close(const std::vector<float>& got, const std::vector<float>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 0;
  for (float value : expected) largest = std::max(largest, std::abs(static_cast<double>(value)));
  ASSERT_GT(largest, 0) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * largest) << what << " at " << i;
}

TEST(HeadChunks, AnyNumberOfThemGivesTheSame) {
  for (DType compute : {DType::kF32, DType::kBF16}) {
    const double tolerance = compute == DType::kF32 ? 1e-6 : 1e-2;
    for (int ranks : {1, 2, 3}) {
      for (bool fresh : {false, true}) {
        const Result whole = run(ranks, compute, 0, fresh);
        ASSERT_GT(whole.loss, 1.0);
        EXPECT_EQ(whole.loss, whole.loss_alone);
        for (int64_t rows : {1, 4, 20}) {  // 21 chunks of one, five and a rest of one, 11 + 10
          const std::string what =
              fmt::format("{} ranks, {}, chunks of {}, fresh {}", ranks, name_of(compute), rows, fresh);
          const Result cut = run(ranks, compute, rows, fresh);
          EXPECT_NEAR(cut.loss, whole.loss, 1e-6 * whole.loss) << what;
          EXPECT_EQ(cut.loss, cut.loss_alone) << what;
          expect_close(cut.dx, whole.dx, tolerance, what + ", dx");
          expect_close(cut.dtable, whole.dtable, tolerance, what + ", dtable");
        }
      }
    }
  }
}

TEST(HeadChunks, AFreshGradientIsOverwrittenAndAnotherAddedTo) {
  const Result fresh = run(2, DType::kF32, 4, true), added = run(2, DType::kF32, 4, false);
  for (size_t i = 0; i < fresh.dtable.size(); ++i)
    ASSERT_NEAR(added.dtable[i], fresh.dtable[i] + value_at(5 + static_cast<int64_t>(i), 0.25), 1e-6) << i;
}

}  // namespace
}  // namespace octant
