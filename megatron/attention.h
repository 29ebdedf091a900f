// Tensor-parallel causal self-attention: heads are cut over the tensor axis (Megatron-LM, section 3).
//
// Query, key and value are one column-parallel product whose rows of output are (q heads | k heads | v heads)
// of this rank; the output projection is row-parallel. With grouped queries the kv heads are cut too: they
// must divide by the tensor size.
#pragma once

#include "megatron/linear.h"

namespace octant {

struct AttentionShape {
  int64_t heads = 0;     // on this rank
  int64_t kv_heads = 0;  // on this rank
  int64_t head_size = 0;
  bool rotary = false;
  float rope_base = 10000.0f;
};

class ParallelAttention : public Module {
 public:
  ParallelAttention(const LayerContext& context, AttentionShape shape, LinearWeights qkv,
                    LinearWeights output)
      : context_(context),
        shape_(shape),
        qkv_(context, std::move(qkv)),
        output_(context, std::move(output)) {}
  Tensor forward(const Tensor& x, const MicroBatch&, Stash&) override;
  Tensor backward_input(const Tensor& dy, const MicroBatch&, Stash&) override;
  void backward_weight(Stash&) override;

 private:
  void rotate(const Tensor& qkv, int64_t sequence, bool inverse) const;
  AttentionForwardArgs arguments(const Tensor& qkv, const Tensor& out, const Tensor& lse,
                                 const MicroBatch&) const;

  const LayerContext& context_;
  AttentionShape shape_;
  ColumnParallelLinear qkv_;
  RowParallelLinear output_;
};

}  // namespace octant
