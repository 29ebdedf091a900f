// Costs against counts made by hand.
#include "core/operation_cost.h"

#include <gtest/gtest.h>

namespace octant {
namespace {

TEST(OperationCost, Matmul) {
  MatmulArgs args{.a = {nullptr, DType::kBF16, 3, 5, 5},
                  .b = {nullptr, DType::kBF16, 7, 5, 9},
                  .c = {nullptr, DType::kF32, 3, 7, 7},
                  .transpose_b = true};
  EXPECT_EQ(cost_of(args).flops, 2 * 3 * 7 * 5);
  EXPECT_EQ(cost_of(args).bytes, 2 * (15 + 35) + 4 * 21);
  args.accumulate = true;  // c is read as well
  EXPECT_EQ(cost_of(args).bytes, 2 * (15 + 35) + 8 * 21);
  // The weight gradient (3, 7)ᵀ · (3, 5): its inner size is a's rows.
  const MatmulArgs weights{.a = {nullptr, DType::kF32, 3, 7, 7},
                           .b = {nullptr, DType::kF32, 3, 5, 5},
                           .c = {nullptr, DType::kF32, 7, 5, 5},
                           .transpose_a = true};
  EXPECT_EQ(cost_of(weights).flops, 2 * 3 * 7 * 5);
}

TEST(OperationCost, CausalAttentionIsHalfOfTheSquare) {
  const AttentionForwardArgs forward{
      .batch = 2, .sequence = 10, .heads = 6, .kv_heads = 3, .head_size = 8, .dtype = DType::kF32};
  // Two products of 2·T·T·D a head, of which half.
  EXPECT_EQ(forward_cost(forward).flops, 2.0 * 6 * (2 * 2 * 10 * 10 * 8) / 2);
  // q and out of 6 heads, k and v of 3, the log-sum-exp.
  EXPECT_EQ(forward_cost(forward).bytes, 4.0 * (2 * 10 * 8 * (6 + 6 + 3 + 3) + 2 * 6 * 10));
  const AttentionBackwardArgs backward{.forward = forward};
  EXPECT_EQ(backward_cost(backward).flops, 2.5 * forward_cost(forward).flops);
  // q, out, dout, dq; k, v, dk, dv; the log-sum-exp.
  EXPECT_EQ(backward_cost(backward).bytes, 4.0 * (2 * 10 * 8 * (4 * 6 + 4 * 3) + 2 * 6 * 10));
}

TEST(OperationCost, PassesOverMemory) {
  EXPECT_EQ(forward_cost(GeluArgs{.n = 11, .dtype = DType::kBF16}).bytes, 2 * 2 * 11);
  int value = 0;
  EXPECT_EQ(backward_cost(GeluArgs{.n = 11, .dtype = DType::kBF16, .y = &value}).bytes, 4 * 2 * 11);
  EXPECT_EQ(backward_cost(SwigluArgs{.rows = 3, .ffn = 5, .dtype = DType::kF32}).bytes,
            4 * 3 * (10 + 5 + 10));
  EXPECT_EQ(cost_of(AddArgs{.n = 7, .dtype = DType::kF32}).bytes, 3 * 4 * 7);
  EXPECT_EQ(
      cost_of(CastArgs{.n = 7, .in_dtype = DType::kF32, .out_dtype = DType::kBF16, .accumulate = true}).bytes,
      7 * (4 + 2 + 2));
  EXPECT_EQ(
      cost_of(ReduceArgs{.n = 7, .num_sources = 3, .dtype = DType::kBF16, .out_dtype = DType::kF32}).bytes,
      7 * (3 * 2 + 4));
  // Three states read and written, the gradient read, the 16-bit weights written.
  EXPECT_EQ(
      cost_of(
          AdamwArgs{
              .n = 7, .gradient_dtype = DType::kBF16, .parameters = &value, .parameters_dtype = DType::kBF16})
          .bytes,
      7 * (24 + 2 + 2));
  EXPECT_EQ(
      backward_cost(CrossEntropyArgs{.rows = 3, .valid = 5, .cols = 8, .dlogits_dtype = DType::kBF16}).bytes,
      3 * (5 * 4 + 8 * 2));
  EXPECT_EQ(cost_of(BiasGradientArgs{.dy = {nullptr, DType::kF32, 3, 5, 9}}).bytes, 4 * (15 + 2 * 5));
  for (const OperationCost& none :
       {cost_of(AddArgs{}), cost_of(MatmulArgs{}), forward_cost(AttentionForwardArgs{})})
    EXPECT_EQ(none.flops + none.bytes, 0);
}

}  // namespace
}  // namespace octant
