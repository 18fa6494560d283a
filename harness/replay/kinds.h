// The kinds of files that can be replayed: one row each. A new kind is a row here and a file with its function.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/replay/candidate.h"
#include "harness/replay/check.h"
#include "harness/replay/file.h"

namespace moediff {

/// Recomputes what the file expects and compares. Throws UserError with everything that is wrong with the file.
std::vector<Check> replay_block(ReplayFile& file);                ///< block_kinds.cc
std::vector<Check> replay_fp8_decode(ReplayFile& file);           ///< fp8_formats.cc
std::vector<Check> replay_fp8_encode(ReplayFile& file);           ///< fp8_formats.cc
std::vector<Check> replay_fp8_act_quant(ReplayFile& file);        ///< fp8_quant.cc
std::vector<Check> replay_fp8_per_token_quant(ReplayFile& file);  ///< fp8_quant.cc
std::vector<Check> replay_fp8_weight_quant(ReplayFile& file);     ///< fp8_weight.cc
std::vector<Check> replay_fp8_block_gemm(ReplayFile& file);       ///< fp8_weight.cc
std::vector<Check> replay_fp8_block_moe(ReplayFile& file);        ///< fp8_block_moe.cc
std::vector<Check> replay_fp8_ds_moe(ReplayFile& file);           ///< fp8_ds_moe.cc
std::vector<Check> replay_decoder_layer(ReplayFile& file);        ///< layer_kind.cc
std::vector<Check> replay_dsv3_lm(ReplayFile& file);              ///< model_kind.cc
std::vector<Check> replay_qwen3_lm(ReplayFile& file);             ///< model_kind.cc
std::vector<Check> replay_dsv3_mtp(ReplayFile& file);             ///< mtp_kind.cc

/// Runs the candidate on the file's inputs and compares it with the oracles.
std::vector<Check> replay_block_candidate(ReplayFile& file, const CandidateOptions& options);   ///< block_candidate.cc
std::vector<Check> replay_fp8_ds_candidate(ReplayFile& file, const CandidateOptions& options);  ///< fp8_ds_candidate.cc

struct KindRow {
  std::string_view name;
  std::string_view checks;  ///< what is compared
  std::string_view rule;    ///< when it agrees; limits in rules.h
  std::vector<Check> (*replay)(ReplayFile&);
  std::vector<Check> (*candidate)(ReplayFile&, const CandidateOptions&) = nullptr;  ///< null: there is none to run
};
inline constexpr std::string_view kBlockRule =
    "float64 1e-12 and float32 4e-6 of the largest magnitude; ids as sets, ties as the oracle takes them";
inline constexpr std::string_view kModelRule =
    "tokens equal; float64 1e-11 and float32 1e-4 absolute; choices of experts that are ties as the logits say";
inline constexpr std::array<KindRow, 17> kReplayKinds{{
    {"dsv3_moe", "DeepSeek-V3 MoE block or gate: logits, ids, weights, experts, shared experts, sums", kBlockRule,
     replay_block, replay_block_candidate},
    {"dsv2_gate", "DeepSeek-V2 softmax gate: ids, weights", kBlockRule, replay_block, replay_block_candidate},
    {"qwen3_moe", "Qwen3-MoE block: logits, ids, weights, experts, sum", kBlockRule, replay_block,
     replay_block_candidate},
    {"mixtral_moe", "Mixtral block: logits, ids, weights, experts, sum", kBlockRule, replay_block,
     replay_block_candidate},
    {"llama4_moe", "Llama-4 block, weights on the input: logits, scores, ids, weights, sums", kBlockRule, replay_block,
     replay_block_candidate},
    {"fp8_decode", "the value of each of the 256 codes of 8-bit formats", "equal, NaN for NaN", replay_fp8_decode},
    {"fp8_encode", "float32 to 8-bit formats, to the nearest even, by three overflow conventions",
     "equal, any NaN code for NaN", replay_fp8_encode},
    {"fp8_act_quant", "activations in groups: codes and scales", "equal", replay_fp8_act_quant},
    {"fp8_per_token_quant", "activations by token and by tensor: codes, scales, values", "equal",
     replay_fp8_per_token_quant},
    {"fp8_weight_quant", "weights in blocks: codes, scales, values", "equal", replay_fp8_weight_quant},
    {"fp8_block_gemm", "product of quantised activations and weights",
     "float32 2e-6 of the largest magnitude, bfloat16 one unit in the last place, float64 1e-12",
     replay_fp8_block_gemm},
    {"fp8_block_moe", "block-quantised experts with given routing: first codes and scales, final",
     "codes and scales equal; final: relative L2 distance 2e-3 (bfloat16 1e-2), and moediff's own bound",
     replay_fp8_block_moe},
    {"fp8_ds_moe", "DeepSeek's MoE with quantised weights: ids, weights, shared_out, final",
     "w8a16 1e-5 of the largest magnitude; w8a8 relative L2 distance 2e-3 and moediff's own bound; bfloat16 2e-2",
     replay_fp8_ds_moe, replay_fp8_ds_candidate},
    {"dsv3_layer", "DeepSeek-V3 decoder layer: norms, projections, rotary embedding, attention, experts, final",
     "float64 1e-12 and float32 1e-5 of the largest magnitude; ids as sets", replay_decoder_layer},
    {"dsv3_lm", "DeepSeek-V3 language model: logits, hidden states, greedy tokens without and with a cache", kModelRule,
     replay_dsv3_lm},
    {"qwen3_lm", "Qwen3-MoE language model: logits, hidden states, greedy tokens without and with a cache", kModelRule,
     replay_qwen3_lm},
    {"dsv3_mtp", "DeepSeek-V3 MTP module: its input, hidden states, logits",
     "float64 1e-12 and float32 1e-5 of the largest magnitude", replay_dsv3_mtp},
}};

/// Replays one file: never throws for what is wrong with it (verdict malformed). Throws CannotRun when the candidate's
/// provider does not exist.
FileReplay replay_file(const std::string& path, const CandidateOptions& candidate = {});

}  // namespace moediff
