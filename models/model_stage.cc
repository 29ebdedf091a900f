#include "models/model_stage.h"

#include <fmt/format.h>

#include "models/block.h"
#include "models/ends.h"
#include "models/parameter_specs.h"
#include "models/recompute.h"

namespace octant {

// Assembles one stage: adds parameters unit by unit and hands the modules their pointers.
class StageBuilder {
 public:
  StageBuilder(ModelStage& stage, const LayerContext& context) : stage_(stage), context_(context) {
    const ModelConfig& config = stage.config_;
    const int64_t multiple = stage.options_.vocab_padding_multiple * context.tensor_size();
    specs_.sequence_parallel = context.cut_tokens();
    specs_.padded_vocab = (config.vocab_size + multiple - 1) / multiple * multiple;
  }

  void build() {
    const ModelConfig& config = stage_.config_;
    const StageOptions& options = stage_.options_;
    Parameter* words = nullptr;
    int tied_unit = -1;
    if (config.tie_embeddings && (options.first || options.last)) {
      tied_unit = begin_unit("embedding.word", /*tied=*/!(options.first && options.last));
      words = add(word_table_spec(config, specs_, /*head=*/false));
    }
    if (options.first) add_embedding(words, tied_unit);
    for (int64_t layer = 0; layer < options.layers; ++layer) add_layer(options.first_layer + layer);
    if (options.last) add_head(words, tied_unit);
  }

 private:
  int begin_unit(std::string name, bool tied = false) {
    stage_.parameter_units_.push_back(
        {.name = std::move(name), .parameters = {}, .tied_over_pipeline = tied});
    return static_cast<int>(stage_.parameter_units_.size()) - 1;
  }
  Parameter* add(ParameterSpec spec) {
    stage_.parameters_.emplace_back(std::move(spec), context_.tensor_rank(), context_.tensor_size());
    Parameter* parameter = &stage_.parameters_.back();
    stage_.parameter_units_.back().parameters.push_back(parameter);
    return parameter;
  }
  std::vector<Parameter*> add(std::vector<ParameterSpec> specs) {
    std::vector<Parameter*> parameters;
    for (ParameterSpec& spec : specs) parameters.push_back(add(std::move(spec)));
    return parameters;
  }

  void add_embedding(Parameter* words, int tied_unit) {
    const ModelConfig& config = stage_.config_;
    std::vector<int> units;
    if (words != nullptr) units.push_back(tied_unit);
    std::vector<ParameterSpec> rest = embedding_specs(config, specs_);
    if (words == nullptr || !rest.empty()) units.push_back(begin_unit("embedding"));
    if (words == nullptr) words = add(word_table_spec(config, specs_, /*head=*/false));
    const std::vector<Parameter*> others = add(std::move(rest));
    stage_.units_.push_back({.name = "embedding",
                             .module = std::make_unique<EmbeddingModule>(
                                 context_, words, others.empty() ? nullptr : others[0], config.dropout),
                             .parameter_units = std::move(units),
                             .backward_reads_parameters = false});
  }

  void add_layer(int64_t layer) {
    const ModelConfig& config = stage_.config_;
    const bool gpt2 = config.family == Family::kGpt2;
    const std::string name = fmt::format("layers.{}", layer);
    const int unit = begin_unit(name);
    const std::vector<Parameter*> p = add(layer_specs(config, specs_, layer));
    const int tensor = context_.tensor_size();
    const AttentionShape shape{.heads = config.num_attention_heads / tensor,
                               .kv_heads = config.num_kv_heads / tensor,
                               .head_size = config.head_size(),
                               .rotary = !gpt2,
                               .rope_base = config.rope_base};
    // The order of layer_specs: norm, q k v (biases), output (bias), norm, the feed-forward weights.
    TransformerBlock::Parts parts =
        gpt2 ? TransformerBlock::Parts{Norm(context_, p[0], p[1], config.norm_epsilon),
                                       ParallelAttention(
                                           context_, shape,
                                           LinearWeights::make({p[2], p[3], p[4]}, {p[5], p[6], p[7]}),
                                           LinearWeights::make({p[8]}, {p[9]})),
                                       ResidualDropout(context_, config.dropout, layer, 0),
                                       Norm(context_, p[10], p[11], config.norm_epsilon),
                                       ParallelMlp(context_, Activation::kGelu,
                                                   LinearWeights::make({p[12]}, {p[13]}),
                                                   LinearWeights::make({p[14]}, {p[15]})),
                                       ResidualDropout(context_, config.dropout, layer, 1)}
             : TransformerBlock::Parts{
                   Norm(context_, p[0], nullptr, config.norm_epsilon),
                   ParallelAttention(context_, shape, LinearWeights::make({p[1], p[2], p[3]}, {}),
                                     LinearWeights::make({p[4]}, {})),
                   ResidualDropout(context_, config.dropout, layer, 0),
                   Norm(context_, p[5], nullptr, config.norm_epsilon),
                   ParallelMlp(context_, Activation::kSwiglu, LinearWeights::make({p[6], p[7]}, {}),
                               LinearWeights::make({p[8]}, {})),
                   ResidualDropout(context_, config.dropout, layer, 1)};
    std::unique_ptr<Module> block = std::make_unique<TransformerBlock>(context_, std::move(parts));
    if (stage_.options_.recompute) block = std::make_unique<Recompute>(std::move(block));
    stage_.units_.push_back({.name = name, .module = std::move(block), .parameter_units = {unit}});
  }

  void add_head(Parameter* words, int tied_unit) {
    const ModelConfig& config = stage_.config_;
    std::vector<int> units;
    if (words != nullptr) units.push_back(tied_unit);
    units.push_back(begin_unit("head"));
    const std::vector<Parameter*> norm = add(head_specs(config, specs_));
    if (words == nullptr) words = add(word_table_spec(config, specs_, /*head=*/true));
    auto module = std::make_unique<HeadModule>(
        context_, Norm(context_, norm[0], norm.size() > 1 ? norm[1] : nullptr, config.norm_epsilon), words);
    stage_.head_ = module.get();
    stage_.units_.push_back(
        {.name = "head", .module = std::move(module), .parameter_units = std::move(units)});
  }

  ModelStage& stage_;
  const LayerContext& context_;
  SpecOptions specs_;
};

ModelStage::ModelStage(const LayerContext& context, const ModelConfig& config, const StageOptions& options)
    : config_(config), options_(options) {
  StageBuilder(*this, context).build();
}

ModelStage::~ModelStage() = default;

void ModelStage::set_loss(const Tensor& loss) {
  if (head_ != nullptr) head_->set_loss(loss);
}

Tensor ModelStage::logits(const Tensor& x, const MicroBatch& micro_batch) {
  if (head_ == nullptr) throw BugError("logits are asked of a pipeline stage without a head");
  return head_->logits(x, micro_batch);
}

std::vector<LogicalParameter> logical_parameters(const ModelConfig& config) {
  const SpecOptions options;
  std::vector<LogicalParameter> list;
  const auto add = [&](const ParameterSpec& spec) { list.push_back({spec.name, spec.global}); };
  add(word_table_spec(config, options, /*head=*/false));
  for (const ParameterSpec& spec : embedding_specs(config, options)) add(spec);
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    for (const ParameterSpec& spec : layer_specs(config, options, layer)) add(spec);
  for (const ParameterSpec& spec : head_specs(config, options)) add(spec);
  if (!config.tie_embeddings) add(word_table_spec(config, options, /*head=*/true));
  return list;
}

}  // namespace octant
