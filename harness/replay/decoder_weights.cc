#include "harness/replay/decoder_weights.h"

namespace moediff {
namespace {

/// Reads matrices, and norms as vectors, of one file. Sizes of a configuration can be anything: nothing is allocated
/// for tensors that the file does not have with them.
class Weights {
 public:
  Weights(ReplayFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  /// Empty where it is not as it should be.
  std::vector<double> read(const std::string& name, const Shape& shape) const {
    const auto found = file_.tensors().find(prefix_ + name);
    if (found != file_.tensors().end() && found->second.shape == shape) return file_.reals(prefix_ + name, shape);
    const bool absent = found == file_.tensors().end();
    file_.mistakes().add(absent ? "" : to_string(found->second.shape),
                         "the file must contain tensor '" + prefix_ + name + "' of shape " + to_string(shape),
                         "check that tensors and configuration belong together");
    return {};
  }
  std::vector<double> vector(const std::string& name, std::int64_t n) const { return read(name, {n}); }
  reference::Matrix matrix(const std::string& name, std::int64_t n, std::int64_t k) const {
    return as_matrix(read(name + ".weight", {n, k}), n, k);
  }
  /// Gate rows, then up rows.
  reference::Matrix gate_up(const std::string& name, std::int64_t inter, std::int64_t hidden) const {
    std::vector<double> rows = read(name + "gate_proj.weight", {inter, hidden});
    const std::vector<double> up = read(name + "up_proj.weight", {inter, hidden});
    rows.insert(rows.end(), up.begin(), up.end());
    return as_matrix(rows, 2 * inter, hidden);
  }
  reference::Mlp mlp(const std::string& name, std::int64_t inter, std::int64_t hidden) const {
    return {gate_up(name, inter, hidden), matrix(name + "down_proj", hidden, inter)};
  }
  bool has(const std::string& name) const { return file_.has(prefix_ + name); }

 private:
  static reference::Matrix as_matrix(std::span<const double> values, std::int64_t n, std::int64_t k) {
    if (static_cast<std::int64_t>(values.size()) != n * k) return {};
    return {values, n, k};
  }

  ReplayFile& file_;
  std::string prefix_;
};

/// Of the norms within latent attention: Hugging Face and DeepSeek build them with their default, whatever
/// rms_norm_eps says.
constexpr double kLatentEpsilon = 1e-6;

reference::Attention load_mla(const Weights& weights, const DecoderShape& s) {
  reference::MlaAttention a;
  a.heads = s.heads, a.nope_dim = s.nope_dim, a.rope_dim = s.rope_dim, a.value_dim = s.value_dim;
  a.kv_rank = s.kv_rank, a.q_rank = s.q_rank, a.rope = s.rope;
  a.epsilon = kLatentEpsilon;
  const std::int64_t queries = s.heads * (s.nope_dim + s.rope_dim);
  if (s.q_rank > 0) {
    a.q_a = weights.matrix("self_attn.q_a_proj", s.q_rank, s.hidden);
    a.q_a_norm = weights.vector("self_attn.q_a_layernorm.weight", s.q_rank);
    a.q = weights.matrix("self_attn.q_b_proj", queries, s.q_rank);
  } else {
    a.q = weights.matrix("self_attn.q_proj", queries, s.hidden);
  }
  a.kv_a = weights.matrix("self_attn.kv_a_proj_with_mqa", s.kv_rank + s.rope_dim, s.hidden);
  a.kv_a_norm = weights.vector("self_attn.kv_a_layernorm.weight", s.kv_rank);
  a.kv_b = weights.matrix("self_attn.kv_b_proj", s.heads * (s.nope_dim + s.value_dim), s.kv_rank);
  a.o = weights.matrix("self_attn.o_proj", s.hidden, s.heads * s.value_dim);
  return a;
}

reference::Attention load_gqa(const Weights& weights, const DecoderShape& s) {
  reference::GqaAttention a;
  a.heads = s.heads, a.kv_heads = s.kv_heads, a.head_dim = s.head_dim, a.rope = s.rope, a.epsilon = s.epsilon;
  a.q = weights.matrix("self_attn.q_proj", s.heads * s.head_dim, s.hidden);
  a.k = weights.matrix("self_attn.k_proj", s.kv_heads * s.head_dim, s.hidden);
  a.v = weights.matrix("self_attn.v_proj", s.kv_heads * s.head_dim, s.hidden);
  a.o = weights.matrix("self_attn.o_proj", s.hidden, s.heads * s.head_dim);
  a.q_norm = weights.vector("self_attn.q_norm.weight", s.head_dim);
  a.k_norm = weights.vector("self_attn.k_norm.weight", s.head_dim);
  return a;
}

reference::Moe load_moe(const Weights& weights, const DecoderShape& shape) {
  const MoeShape& s = shape.moe;
  const std::string bias = "mlp.gate.e_score_correction_bias";
  RouterPolicy policy = family_policy(shape.family);
  policy.bias = policy.bias && weights.has(bias);
  reference::Moe moe;
  moe.router = {s.experts, s.top_k, s.n_group, s.topk_group, s.norm_topk_prob, s.routed_scaling_factor, policy};
  moe.gate = weights.matrix("mlp.gate", s.experts, s.hidden);
  if (policy.bias) moe.bias = weights.vector(bias, s.experts);
  for (std::int64_t e = 0; e < s.experts; ++e) {
    const std::string name = "mlp.experts." + std::to_string(e) + ".";
    moe.gate_up.push_back(weights.gate_up(name, s.inter, s.hidden));
    moe.down.push_back(weights.matrix(name + "down_proj", s.hidden, s.inter));
  }
  if (s.n_shared > 0) moe.shared.push_back(weights.mlp("mlp.shared_experts.", s.n_shared * s.inter, s.hidden));
  return moe;
}

/// Shared with the embedding where the configuration says so.
reference::Matrix load_head(ReplayFile& file, const DecoderShape& shape) {
  const bool shared = !file.has("lm_head.weight") && file.config().boolean({"tie_word_embeddings"}, false);
  return Weights(file, "").matrix(shared ? "model.embed_tokens" : "lm_head", shape.vocabulary, shape.hidden);
}

std::vector<double> load_embedding(ReplayFile& file, const DecoderShape& shape) {
  return Weights(file, "").read("model.embed_tokens.weight", {shape.vocabulary, shape.hidden});
}

}  // namespace

RouterPolicy family_policy(DecoderFamily family) {
  RouterPolicy policy;
  if (family == DecoderFamily::deepseek_v3) return policy;
  policy.scoring = Scoring::softmax;
  policy.group_score = GroupScore::max;
  policy.bias = false;
  return policy;
}

reference::DecoderLayer load_layer(ReplayFile& file, const DecoderShape& shape, const std::string& prefix,
                                   std::int64_t index) {
  const Weights weights(file, prefix);
  reference::DecoderLayer layer;
  layer.index = index;
  layer.epsilon = shape.epsilon;
  layer.input_norm = weights.vector("input_layernorm.weight", shape.hidden);
  layer.post_norm = weights.vector("post_attention_layernorm.weight", shape.hidden);
  layer.attention = shape.family == DecoderFamily::deepseek_v3 ? load_mla(weights, shape) : load_gqa(weights, shape);
  if (shape.has_moe(index)) {
    layer.block = load_moe(weights, shape);
  } else {
    layer.block = weights.mlp("mlp.", shape.inter, shape.hidden);
  }
  return layer;
}

reference::LanguageModel load_model(ReplayFile& file, const DecoderShape& shape) {
  reference::LanguageModel model;
  model.epsilon = shape.epsilon;
  model.embedding = load_embedding(file, shape);
  model.final_norm = Weights(file, "").vector("model.norm.weight", shape.hidden);
  model.head = load_head(file, shape);
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    model.layers.push_back(load_layer(file, shape, "model.layers." + std::to_string(i) + ".", i));
  }
  return model;
}

reference::MtpModule load_mtp(ReplayFile& file, const DecoderShape& shape) {
  const std::string prefix = "model.layers." + std::to_string(shape.layers) + ".";
  const Weights weights(file, prefix);
  reference::MtpModule module;
  module.epsilon = shape.epsilon;
  module.embedding = load_embedding(file, shape);
  module.head = load_head(file, shape);
  module.embedding_norm = weights.vector("enorm.weight", shape.hidden);
  module.hidden_norm = weights.vector("hnorm.weight", shape.hidden);
  module.head_norm = weights.vector("shared_head.norm.weight", shape.hidden);
  module.projection = weights.matrix("eh_proj", shape.hidden, 2 * shape.hidden);
  module.layer = load_layer(file, shape, prefix, shape.layers);
  return module;
}

void adopt(reference::DecoderLayer& layer, const OraclePolicy& policy) {
  std::visit(
      [&](auto& attention) {
        if (attention.rope.yarn) attention.rope.yarn->magnitude = policy.yarn_magnitude;
      },
      layer.attention);
  if (reference::Moe* const moe = std::get_if<reference::Moe>(&layer.block)) {
    moe->router.policy = policy.router;
    moe->router.policy.bias = policy.router.bias && !moe->bias.empty();
  }
}

}  // namespace moediff
