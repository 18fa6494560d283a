// Reading a block. Sizes come from the configuration, within limits; every tensor is read against them.
#include "harness/replay/block.h"

#include <algorithm>

namespace moediff {
namespace {

constexpr std::int64_t kMaxWidth = 65536, kMaxExperts = 4096, kMaxShared = 64;
constexpr std::int64_t kMaxScores = std::int64_t{1} << 26;  // tokens * experts
constexpr std::int64_t kMaxRows = std::int64_t{1} << 27;    // elements of the largest intermediate

/// activation names of Hugging Face configurations (`hidden_act`).
struct ActivationName {
  std::string_view name;
  ActivationKind kind;
};
constexpr std::array<ActivationName, 5> kActivations{{{"silu", ActivationKind::silu},
                                                      {"swish", ActivationKind::silu},
                                                      {"gelu", ActivationKind::gelu},
                                                      {"gelu_tanh", ActivationKind::gelu_tanh},
                                                      {"gelu_pytorch_tanh", ActivationKind::gelu_tanh}}};

ActivationKind read_activation(ReplayFile& file) {
  const std::string name = file.config().text({"hidden_act"}, "silu");
  for (const ActivationName& row : kActivations) {
    if (row.name == name) return row.kind;
  }
  file.mistakes().add(name, "configuration value 'hidden_act' must be silu, gelu or gelu_pytorch_tanh",
                      "other activations cannot be replayed");
  return ActivationKind::silu;
}

Scoring read_scoring(ReplayFile& file, Scoring otherwise) {
  const std::string name =
      file.config().text({"scoring_func"}, std::string(kScoringNames[static_cast<int>(otherwise)]));
  const auto found = std::find(kScoringNames.begin(), kScoringNames.end(), name);
  if (found != kScoringNames.end()) return static_cast<Scoring>(found - kScoringNames.begin());
  file.mistakes().add(name, "configuration value 'scoring_func' must be sigmoid or softmax",
                      "other scorings cannot be replayed");
  return otherwise;
}

MoeShape read_shape(ReplayFile& file, const BlockFamily& family) {
  const ReplayConfig& config = file.config();
  MoeShape shape;
  shape.hidden = config.integer({"hidden_size"}, 1, kMaxWidth);
  if (!family.gate.empty()) shape.inter = config.integer({"moe_intermediate_size", "intermediate_size"}, 0, kMaxWidth);
  shape.experts = config.integer({"n_routed_experts", "num_local_experts", "num_experts"}, 1, kMaxExperts);
  shape.top_k = config.integer({"num_experts_per_tok", "top_k"}, 1, shape.experts);
  shape.n_group = config.integer({"n_group"}, 1, shape.experts, 1);
  shape.topk_group = config.integer({"topk_group"}, 1, shape.n_group, shape.n_group);
  if (shape.experts % shape.n_group != 0) {
    file.mistakes().add(std::to_string(shape.n_group),
                        "configuration value 'n_group' must divide the number of experts",
                        "correct it in the file's metadata");
  } else if (shape.top_k > shape.topk_group * (shape.experts / shape.n_group)) {
    file.mistakes().add(std::to_string(shape.top_k),
                        "the experts of a token must not exceed those of its 'topk_group' groups",
                        "correct it in the file's metadata");
  }
  const bool shared = !family.shared.empty() && shape.inter > 0;
  if (shared) shape.n_shared = config.integer({"n_shared_experts"}, 0, kMaxShared, 1);
  shape.norm_topk_prob = family.always_normalised || config.boolean({"norm_topk_prob"}, !family.weigh_input);
  shape.routed_scaling_factor = config.real({"routed_scaling_factor"}, 1e-6, 1e6, 1.0);
  return shape;
}

std::vector<double> join(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// [rows, columns] of expert `e` of [E, columns, rows].
std::vector<double> transposed(const std::vector<double>& all, std::int64_t e, std::int64_t rows,
                               std::int64_t columns) {
  std::vector<double> out;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      out.push_back(all[static_cast<std::size_t>((e * columns + c) * rows + r)]);
    }
  }
  return out;
}

void load_fused(ReplayFile& file, const BlockFamily& family, Block& block) {
  const MoeShape& s = block.shape;
  const std::string prefix(family.prefix);
  const std::vector<double> gate_up = file.reals(prefix + std::string(family.gate), {s.experts, s.hidden, 2 * s.inter});
  const std::vector<double> down = file.reals(prefix + std::string(family.down), {s.experts, s.inter, s.hidden});
  file.throw_if_mistaken();
  for (std::int64_t e = 0; e < s.experts; ++e) {
    block.w13.push_back(transposed(gate_up, e, 2 * s.inter, s.hidden));
    block.w2.push_back(transposed(down, e, s.hidden, s.inter));
  }
}

void load_experts(ReplayFile& file, const BlockFamily& family, Block& block) {
  const MoeShape& s = block.shape;
  const std::string prefix(family.prefix);
  for (std::int64_t e = 0; e < s.experts; ++e) {
    block.w13.push_back(join(file.reals(prefix + numbered(family.gate, e), {s.inter, s.hidden}),
                             file.reals(prefix + numbered(family.up, e), {s.inter, s.hidden})));
    block.w2.push_back(file.reals(prefix + numbered(family.down, e), {s.hidden, s.inter}));
  }
}

void load_shared(ReplayFile& file, const BlockFamily& family, Block& block) {
  const std::int64_t hidden = block.shape.hidden, inter = block.shape.n_shared * block.shape.inter;
  const std::string prefix = std::string(family.prefix) + std::string(family.shared);
  block.shared_w13 = join(file.reals(prefix + "gate_proj.weight", {inter, hidden}),
                          file.reals(prefix + "up_proj.weight", {inter, hidden}));
  block.shared_w2 = file.reals(prefix + "down_proj.weight", {hidden, inter});
}

void limit_work(ReplayFile& file, const Block& block) {
  const MoeShape& s = block.shape;
  if (block.tokens * s.experts > kMaxScores || block.tokens * s.top_k * std::max(2 * s.inter, s.hidden) > kMaxRows) {
    file.mistakes().add(std::to_string(block.tokens) + " tokens", "the case must be of a size that can be replayed",
                        "use fewer tokens");
  }
}

}  // namespace

std::string numbered(std::string_view pattern, std::int64_t number) {
  const std::size_t at = pattern.find("{}");
  if (at == std::string_view::npos) return std::string(pattern);
  return std::string(pattern.substr(0, at)) + std::to_string(number) + std::string(pattern.substr(at + 2));
}

Block load_block(ReplayFile& file, const BlockFamily& family) {
  Block block;
  block.shape = read_shape(file, family);
  block.activation = read_activation(file);
  block.router.scoring = read_scoring(file, family.scoring);
  block.router.group_score = family.group_score;
  if (file.config().boolean({"router_weight_on_input"}, family.weigh_input)) {
    block.router.weight_on = WeightPlace::input;
  }
  file.throw_if_mistaken();  // sizes are used from here on

  const MoeShape& s = block.shape;
  const std::string prefix(family.prefix), bias = prefix + std::string(family.bias);
  block.tokens = file.shape("in.hidden_states", 2)[0];
  limit_work(file, block);
  file.throw_if_mistaken();
  block.x = file.reals("in.hidden_states", {block.tokens, s.hidden});
  block.gate_weight = file.reals(prefix + std::string(family.router), {s.experts, s.hidden});
  block.router.bias = !family.bias.empty() && file.has(bias);
  if (block.router.bias) block.bias = file.reals(bias, {s.experts});
  if (s.inter > 0 && family.up.empty()) load_fused(file, family, block);
  if (s.inter > 0 && !family.up.empty()) load_experts(file, family, block);
  if (s.n_shared > 0) load_shared(file, family, block);
  file.throw_if_mistaken();
  return block;
}

MoeWeights moe_weights(const Block& block) {
  const MoeShape& s = block.shape;
  MoeWeights out;
  out.hidden = s.hidden, out.inter = s.inter, out.experts = s.experts, out.shared_inter = s.n_shared * s.inter;
  for (const std::vector<double>& weight : block.w13) out.w13.emplace_back(weight, 2 * s.inter, s.hidden);
  for (const std::vector<double>& weight : block.w2) out.w2.emplace_back(weight, s.hidden, s.inter);
  if (s.n_shared == 0) return out;
  out.shared_w13 = {block.shared_w13, 2 * out.shared_inter, s.hidden};
  out.shared_w2 = {block.shared_w2, s.hidden, out.shared_inter};
  return out;
}

}  // namespace moediff
