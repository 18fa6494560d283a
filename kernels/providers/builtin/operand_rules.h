// What each op's operands have to be: one row an op, one entry an operand.
#pragma once

#include <cstdint>

#include "kernels/abi/moediff_abi.h"

namespace moediff::kernels {

/// What an operand holds, which decides its dtype. In algebra mode everything but indices is MD_FIELD.
enum class Holds : std::uint8_t {
  model,  ///< f32, bf16 or f16: the same in all operands of a call
  f32,
  i32,
  logits,            ///< f32 or the model dtype
  activations,       ///< model, or codes where the scheme quantises activations
  activation_codes,  ///< codes in every case
  activation_scales,
  weights,  ///< model, or codes
  weight_scales,
  any_float,
};

/// When an operand may be left out.
enum class Presence : std::uint8_t {
  required,
  optional,
  with_activation_codes,  ///< required, or refused, by the scheme
  with_weight_codes,
  with_split_k,  ///< not looked at when split_k is 1
  with_weights,  ///< not looked at without the operand behind it
};

struct OperandRule {
  const char* name;
  Holds holds;
  /// One letter a dimension, of scales the letters of what they scale: T tokens, H hidden, E experts, W top-k columns,
  /// R rows, I inter, N = 2I, O = E + 1, K top_k, P split_k, C columns, 1.
  const char* dims;
  Presence presence = Presence::required;
};

inline constexpr int kMaxOperands = 10;

struct OpRule {
  const char* name;
  int count;
  OperandRule operands[kMaxOperands];
};

/// Indexed by md_op.
extern const OpRule kOpRules[MD_OP_COUNT];

/// Of md_params::scheme.
enum class ActivationScales : std::uint8_t { none, tensor, row, group };
enum class WeightScales : std::uint8_t { none, tensor, channel, block, group };
enum class Code : std::uint8_t { none, fp8, i8, nibbles };
struct SchemeRule {
  const char* name;
  Code code;
  ActivationScales activations;
  WeightScales weights;
  int weight_scale_dtype;  ///< -1: the model dtype
};
inline constexpr SchemeRule kSchemes[] = {
    {"NONE", Code::none, ActivationScales::none, WeightScales::none, MD_F32},
    {"FP8_BLOCK", Code::fp8, ActivationScales::group, WeightScales::block, MD_F32},
    {"FP8_TENSOR", Code::fp8, ActivationScales::tensor, WeightScales::tensor, MD_F32},
    {"FP8_CHANNEL", Code::fp8, ActivationScales::row, WeightScales::channel, MD_F32},
    {"INT8_CHANNEL", Code::i8, ActivationScales::row, WeightScales::channel, MD_F32},
    {"INT4_GROUP", Code::nibbles, ActivationScales::none, WeightScales::group, -1},
    {"MXFP4", Code::nibbles, ActivationScales::none, WeightScales::group, MD_F8_E8M0},
};
inline constexpr int kSchemeCount = sizeof(kSchemes) / sizeof(kSchemes[0]);
inline constexpr std::int64_t kMxGroup = 32;

}  // namespace moediff::kernels
