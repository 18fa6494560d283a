// A MoE block of a file as values: configuration, router and expert weights under the names that Hugging Face
// checkpoints of its model family give them, input. The families are a table.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/expert_policy.h"
#include "harness/model/moe_shape.h"
#include "harness/model/router_policy.h"
#include "harness/replay/file.h"
#include "harness/replay/moe.h"

namespace moediff {

/// How a model family names its weights and routes. "{}" stands for the expert's number. Fused families keep all
/// experts in two tensors, [E, H, 2I] (gate columns, then up columns) and [E, I, H], used as x W.
struct BlockFamily {
  std::string_view kind, prefix;
  std::string_view router, bias;    ///< [E, H]; [E], "" when there is none
  std::string_view gate, up, down;  ///< of an expert; fused: gate is gate_up, up is ""
  std::string_view shared;          ///< prefix of gate_proj.weight, up_proj.weight, down_proj.weight; "" when none
  Scoring scoring;
  GroupScore group_score;
  bool always_normalised;
  bool weigh_input;
};
inline constexpr std::array<BlockFamily, 5> kBlockFamilies{{
    {"dsv3_moe", "mlp.", "gate.weight", "gate.e_score_correction_bias", "experts.{}.gate_proj.weight",
     "experts.{}.up_proj.weight", "experts.{}.down_proj.weight", "shared_experts.", Scoring::sigmoid,
     GroupScore::top2_sum, false, false},
    {"dsv2_gate", "mlp.", "gate.weight", "", "", "", "", "", Scoring::softmax, GroupScore::max, false, false},
    {"qwen3_moe", "mlp.", "gate.weight", "", "experts.{}.gate_proj.weight", "experts.{}.up_proj.weight",
     "experts.{}.down_proj.weight", "", Scoring::softmax, GroupScore::max, false, false},
    {"mixtral_moe", "block_sparse_moe.", "gate.weight", "", "experts.{}.w1.weight", "experts.{}.w3.weight",
     "experts.{}.w2.weight", "", Scoring::softmax, GroupScore::max, true, false},
    {"llama4_moe", "feed_forward.", "router.weight", "", "experts.gate_up_proj", "", "experts.down_proj",
     "shared_expert.", Scoring::sigmoid, GroupScore::max, false, true},
}};

struct Block {
  MoeShape shape;       ///< inter 0: a gate alone
  RouterPolicy router;  ///< the family's, before an oracle's own policies
  ActivationKind activation = ActivationKind::silu;
  std::int64_t tokens = 0;
  std::vector<double> x;                  ///< [T, H]
  std::vector<double> gate_weight, bias;  ///< [E, H]; [E] or empty
  /// By expert, row-major [2I, H] (gate rows, then up rows) and [H, I]; shared [2SI, H], [H, SI].
  std::vector<std::vector<double>> w13, w2;
  std::vector<double> shared_w13, shared_w2;
};

/// Reads and checks everything; throws UserError with all mistakes.
Block load_block(ReplayFile& file, const BlockFamily& family);

/// The weights prepared for the reference.
MoeWeights moe_weights(const Block& block);

/// `pattern` with "{}" replaced by the number.
std::string numbered(std::string_view pattern, std::int64_t number);

}  // namespace moediff
