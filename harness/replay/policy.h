// The policies an oracle computes by: a table of those that are known, defaults for all others, and the file's own word
// (metadata `policy.ORACLE`, a JSON object of policy names) before both.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "harness/model/quant.h"
#include "harness/model/router_policy.h"
#include "harness/replay/file.h"
#include "reference/rope.h"

namespace moediff {

/// Where an oracle's router differs from its kind's. Sources: transformers modeling_deepseek_v3.py and
/// modeling_deepseek_v2.py (masked_fill with 0.0; sum + 1e-20), deepseek-ai/DeepSeek-V3 inference/model.py (Gate: -inf,
/// the plain sum), vLLM grouped_topk (-inf, the plain sum).
struct RouterOracle {
  std::string_view kind, oracle;
  MaskValue mask;
  double norm_epsilon;
};
inline constexpr std::array<RouterOracle, 12> kRouterOracles{{
    {"dsv3_moe", "hf", MaskValue::zero, 1e-20},
    {"dsv3_moe", "ds", MaskValue::neg_inf, 0},
    {"dsv3_moe", "vllm", MaskValue::neg_inf, 0},
    {"fp8_ds_moe", "ds", MaskValue::neg_inf, 0},
    {"dsv2_gate", "hf", MaskValue::zero, 0},
    {"dsv2_gate", "ds", MaskValue::neg_inf, 0},
    {"dsv2_gate", "vllm", MaskValue::neg_inf, 0},
    {"dsv3_layer", "hf", MaskValue::zero, 1e-20},
    {"dsv3_layer", "ds", MaskValue::neg_inf, 0},
    {"dsv3_lm", "hf", MaskValue::zero, 1e-20},
    {"dsv3_lm", "ds", MaskValue::neg_inf, 0},
    {"dsv3_mtp", "hf", MaskValue::zero, 1e-20},
}};

/// How an oracle quantises. An oracle called NAME_ue8m0 is NAME with scales rounded up to powers of two. Sources:
/// DeepSeek-V3 inference/kernel.py (act_quant), vLLM native_per_token_group_quant_fp8, per_block_cast_to_fp8 and
/// tests/kernels/quant_utils.py (ref_dynamic_per_token_quant, ref_dynamic_per_tensor_fp8_quant).
struct QuantOracle {
  std::string_view kind, oracle;
  double amax_floor;
  ScaleBy scale_by;
};
inline constexpr std::array<QuantOracle, 7> kQuantOracles{{
    {"fp8_act_quant", "ds", 1e-4, ScaleBy::division},
    {"fp8_act_quant", "vllm", 1e-10, ScaleBy::division},
    {"fp8_weight_quant", "vllm", 1e-4, ScaleBy::reciprocal},
    {"fp8_per_token_quant", "per_token", 0x1p-9, ScaleBy::division},  // scale >= 1 / (fmax * 512)
    {"fp8_per_token_quant", "per_tensor", 0, ScaleBy::reciprocal},
    {"fp8_block_moe", "vllm", 1e-10, ScaleBy::division},
    {"fp8_ds_moe", "ds", 1e-4, ScaleBy::division},
}};

/// Where an oracle's rotary embedding differs (reference/rope.h).
struct RopeOracle {
  std::string_view kind, oracle;
  reference::YarnMagnitude yarn_magnitude;
};
inline constexpr std::array<RopeOracle, 2> kRopeOracles{{
    {"dsv3_layer", "ds", reference::YarnMagnitude::one},
    {"dsv3_lm", "ds", reference::YarnMagnitude::one},
}};

struct OraclePolicy {
  RouterPolicy router;
  QuantSpec quant;
  reference::YarnMagnitude yarn_magnitude = reference::YarnMagnitude::ratio;
  bool mtp_mask_first = true;  ///< the MTP module's embedding counts as 0 at position 0
};

/// The policies of `oracle`; `base` is its kind's. An oracle in several parts ("ds.w8a8") is looked up by the first;
/// the file may speak of the first part, and of the whole. Notes a `policy.ORACLE` with unknown keys or values.
OraclePolicy oracle_policy(ReplayFile& file, const std::string& oracle, const OraclePolicy& base);

/// Notes a policy that uses a bias where the file has none.
void check_bias(ReplayFile& file, const std::string& oracle, const RouterPolicy& policy, bool has_bias);

/// Notes policies of oracles that the file has nothing of.
void check_policies(ReplayFile& file, const std::vector<std::string>& oracles);

}  // namespace moediff
