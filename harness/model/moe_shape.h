// The dimensions and constants of one MoE layer, in the names of the field (Hugging Face key in the comment).
#pragma once

#include <cstdint>

namespace moediff {

struct MoeShape {
  std::int64_t hidden = 0;             ///< hidden_size
  std::int64_t inter = 0;              ///< moe_intermediate_size
  std::int64_t experts = 0;            ///< n_routed_experts
  std::int64_t top_k = 0;              ///< num_experts_per_tok
  std::int64_t n_group = 1;            ///< n_group
  std::int64_t topk_group = 1;         ///< topk_group
  std::int64_t n_shared = 0;           ///< n_shared_experts; their intermediate size is n_shared * inter
  bool norm_topk_prob = true;          ///< norm_topk_prob
  double routed_scaling_factor = 1.0;  ///< routed_scaling_factor
  bool operator==(const MoeShape&) const = default;
};

}  // namespace moediff
