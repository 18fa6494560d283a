#include "harness/replay/decoder_shape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace moediff {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxWidth = 65536, kMaxHeads = 1024, kMaxHeadDim = 4096, kMaxExperts = 4096, kMaxShared = 64;
constexpr std::int64_t kMaxLayers = 256, kMaxVocabulary = std::int64_t{1} << 20;
constexpr std::int64_t kMaxScores = std::int64_t{1} << 25;  // of attention, in one layer

const std::string kRemedy = "correct it in the file's metadata";

/// A configuration value that these families have, but that cannot be replayed with any other value.
void require_text(ReplayFile& file, const char* key, const std::string& value) {
  const std::string found = file.config().text({key}, value);
  if (found == value) return;
  file.mistakes().add(found, "configuration value '" + std::string(key) + "' must be " + value,
                      "other values cannot be replayed");
}

MoeShape read_moe(ReplayFile& file, DecoderFamily family) {
  const ReplayConfig& config = file.config();
  const bool deepseek = family == DecoderFamily::deepseek_v3;
  MoeShape moe;
  moe.hidden = config.integer({"hidden_size"}, 1, kMaxWidth);
  moe.inter = config.integer({"moe_intermediate_size"}, 1, kMaxWidth);
  moe.experts = config.integer({"n_routed_experts", "num_experts"}, 1, kMaxExperts);
  moe.top_k = config.integer({"num_experts_per_tok"}, 1, moe.experts);
  moe.n_group = deepseek ? config.integer({"n_group"}, 1, moe.experts, 1) : 1;
  moe.topk_group = deepseek ? config.integer({"topk_group"}, 1, moe.n_group, moe.n_group) : 1;
  if (moe.experts % moe.n_group != 0) {
    file.mistakes().add(std::to_string(moe.n_group), "configuration value 'n_group' must divide the number of experts",
                        kRemedy);
  } else if (moe.top_k > moe.topk_group * (moe.experts / moe.n_group)) {
    file.mistakes().add(std::to_string(moe.top_k),
                        "the experts of a token must not exceed those of its 'topk_group' groups", kRemedy);
  }
  moe.n_shared = deepseek ? config.integer({"n_shared_experts"}, 0, kMaxShared, 1) : 0;
  moe.norm_topk_prob = config.boolean({"norm_topk_prob"}, deepseek);
  moe.routed_scaling_factor = deepseek ? config.real({"routed_scaling_factor"}, 1e-6, 1e6, 1.0) : 1.0;
  return moe;
}

void read_attention(ReplayFile& file, DecoderShape& shape) {
  const ReplayConfig& config = file.config();
  shape.heads = config.integer({"num_attention_heads"}, 1, kMaxHeads);
  if (shape.family == DecoderFamily::deepseek_v3) {
    shape.q_rank = config.integer({"q_lora_rank"}, 0, kMaxWidth, 0);
    shape.kv_rank = config.integer({"kv_lora_rank"}, 1, kMaxWidth);
    shape.nope_dim = config.integer({"qk_nope_head_dim"}, 1, kMaxHeadDim);
    shape.rope_dim = config.integer({"qk_rope_head_dim"}, 2, kMaxHeadDim);
    shape.value_dim = config.integer({"v_head_dim"}, 1, kMaxHeadDim);
    return;
  }
  shape.kv_heads = config.integer({"num_key_value_heads"}, 1, shape.heads, shape.heads);
  if (shape.heads % shape.kv_heads != 0) {
    file.mistakes().add(std::to_string(shape.kv_heads),
                        "configuration value 'num_key_value_heads' must divide the number of heads", kRemedy);
  }
  shape.head_dim = config.integer({"head_dim"}, 2, kMaxHeadDim, std::max<std::int64_t>(2, shape.hidden / shape.heads));
}

/// One number of the object `rope_scaling`.
double scaling_number(ReplayFile& file, const Json& scaling, const char* key, double low, double high,
                      double otherwise) {
  const auto entry = scaling.find(key);
  if (entry == scaling.end() || entry->is_null()) return otherwise;
  const double value = entry->is_number() ? entry->get<double>() : std::nan("");
  if (value >= low && value <= high) return value;
  file.mistakes().add(entry->dump(),
                      "'" + std::string(key) + "' of 'rope_scaling' must be a number from " + std::to_string(low) +
                          " to " + std::to_string(high),
                      kRemedy);
  return otherwise;
}

std::optional<reference::Yarn> read_yarn(ReplayFile& file) {
  const std::string text = file.config().text({"rope_scaling"}, "null");
  const Json scaling = Json::parse(text, nullptr, false);
  if (scaling.is_null()) return std::nullopt;
  std::string type;
  for (const char* key : {"rope_type", "type"}) {
    if (type.empty() && scaling.is_object() && scaling.contains(key) && scaling[key].is_string()) type = scaling[key];
  }
  if (type == "default") return std::nullopt;
  if (type != "yarn") {
    file.mistakes().add(text, "configuration value 'rope_scaling' must be null, of type default or of type yarn",
                        "other scalings cannot be replayed");
    return std::nullopt;
  }
  const double positions = static_cast<double>(file.config().integer({"max_position_embeddings"}, 1, 1 << 30, 4096));
  reference::Yarn yarn;
  yarn.factor = scaling_number(file, scaling, "factor", 1, 1e6, 1);
  yarn.original_positions = scaling_number(file, scaling, "original_max_position_embeddings", 1, 1e9, positions);
  yarn.beta_fast = scaling_number(file, scaling, "beta_fast", 1e-6, 1e6, 32);
  yarn.beta_slow = scaling_number(file, scaling, "beta_slow", 1e-6, 1e6, 1);
  yarn.mscale = scaling_number(file, scaling, "mscale", 0, 1e3, 0);
  yarn.mscale_all_dim = scaling_number(file, scaling, "mscale_all_dim", 0, 1e3, 0);
  yarn.attention_factor = scaling_number(file, scaling, "attention_factor", 0, 1e3, 0);
  if (scaling.contains("truncate") && scaling["truncate"] != true) {
    file.mistakes().add(scaling["truncate"].dump(), "'truncate' of 'rope_scaling' must be true",
                        "other ways of yarn cannot be replayed");
  }
  return yarn;
}

reference::Rope read_rope(ReplayFile& file, const DecoderShape& shape) {
  const bool deepseek = shape.family == DecoderFamily::deepseek_v3;
  reference::Rope rope;
  rope.dim = deepseek ? shape.rope_dim : shape.head_dim;
  rope.theta = file.config().real({"rope_theta"}, 2, 1e12, 10000);
  const bool interleaved = deepseek && file.config().boolean({"rope_interleave"}, true);
  rope.layout = interleaved ? reference::RopeLayout::interleaved : reference::RopeLayout::halves;
  rope.yarn = read_yarn(file);
  if (rope.dim % 2 != 0) {
    file.mistakes().add(std::to_string(rope.dim), "the vectors that rotary embedding turns must be of even size",
                        kRemedy);
  }
  return rope;
}

void read_blocks(ReplayFile& file, DecoderShape& shape) {
  const ReplayConfig& config = file.config();
  if (shape.family == DecoderFamily::deepseek_v3) {
    shape.first_moe_layer = config.integer({"first_k_dense_replace"}, 0, kMaxLayers, 0);
    return;
  }
  shape.sparse_step = config.integer({"decoder_sparse_step"}, 1, kMaxLayers, 1);
  const std::string text = config.text({"mlp_only_layers"}, "[]");
  const Json layers = Json::parse(text, nullptr, false);
  bool good = layers.is_array();
  for (const Json& layer : good ? layers : Json::array()) {
    good = good && layer.is_number_integer();
    if (good) shape.dense_layers.push_back(layer.get<std::int64_t>());
  }
  if (!good) file.mistakes().add(text, "configuration value 'mlp_only_layers' must be a list of layers", kRemedy);
}

}  // namespace

bool DecoderShape::has_moe(std::int64_t layer) const {
  const bool dense = std::find(dense_layers.begin(), dense_layers.end(), layer) != dense_layers.end();
  return !dense && layer >= first_moe_layer && (layer + 1) % sparse_step == 0;
}

DecoderShape read_decoder_shape(ReplayFile& file, DecoderFamily family, bool whole_model) {
  const ReplayConfig& config = file.config();
  DecoderShape shape;
  shape.family = family;
  shape.moe = read_moe(file, family);
  shape.hidden = shape.moe.hidden;
  if (whole_model) {
    shape.vocabulary = config.integer({"vocab_size"}, 1, kMaxVocabulary);
    shape.layers = config.integer({"num_hidden_layers"}, 1, kMaxLayers);
  }
  shape.epsilon = config.real({"rms_norm_eps"}, 0, 1, 1e-6);
  read_attention(file, shape);
  shape.rope = read_rope(file, shape);
  read_blocks(file, shape);
  shape.inter = config.integer({"intermediate_size"}, 1, kMaxWidth, 1);
  require_text(file, "hidden_act", "silu");
  require_text(file, "attention_bias", "false");
  if (family == DecoderFamily::deepseek_v3) require_text(file, "scoring_func", "sigmoid");
  return shape;
}

std::int64_t metadata_integer(ReplayFile& file, const std::string& key, std::int64_t low, std::int64_t high,
                              std::int64_t otherwise) {
  const std::string text = file.metadata(key);
  if (text.empty()) return otherwise;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && end == text.data() + text.size() && value >= low && value <= high) return value;
  file.mistakes().add(
      text, "metadata '" + key + "' must be a whole number from " + std::to_string(low) + " to " + std::to_string(high),
      kRemedy);
  return otherwise;
}

void limit_attention(ReplayFile& file, const DecoderShape& shape, std::int64_t sequences, std::int64_t positions) {
  // Both extents are at most 2^20, and there are at most 2^10 heads.
  if (positions * positions <= kMaxScores && sequences * shape.heads * positions * positions <= kMaxScores) return;
  file.mistakes().add(std::to_string(sequences) + " sequences of " + std::to_string(positions) + " positions",
                      "the case must be of a size that can be replayed", "use fewer or shorter sequences");
}

}  // namespace moediff
