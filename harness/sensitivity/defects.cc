// The table of defects. Sizes: small K = 256, wide K = 2048, real K = 7168 (DeepSeek-V3), many 4096 tokens.
#include <array>

#include "harness/sensitivity/alterations.h"
#include "harness/sensitivity/defect.h"
#include "harness/sensitivity/edits.h"
#include "harness/sensitivity/setups.h"

namespace moediff {
namespace {

constexpr std::string_view kLegitimate =
    "the change stays inside what fp32 arithmetic may legitimately round to; on exact data it is caught (next row)";

namespace in = alterations;
using enum Size;

// clang-format off
constexpr std::array kDefects{
    // Sums along K.
    Defect{.name = "last K element dropped, K = 256", .stage = "gemm1", .meaning = "loop ends one short", .alter_inputs = in::last_k_dropped},
    Defect{.name = "last K element dropped, K = 2048", .stage = "gemm1", .meaning = "loop ends one short", .size = wide, .alter_inputs = in::last_k_dropped},
    Defect{.name = "last K element dropped, K = 7168", .stage = "gemm1", .meaning = "loop ends one short", .size = real, .alter_inputs = in::last_k_dropped},
    Defect{.name = "last K element dropped, K = 7168, fp8", .stage = "gemm1", .meaning = "loop ends one short", .size = real, .setup = healthy::fp8_block, .alter_inputs = in::last_k_dropped},
    Defect{.name = "last K element of w2 dropped", .stage = "gemm2", .meaning = "loop ends one short", .size = wide, .alter_inputs = in::last_k_of_w2_dropped},
    Defect{.name = "last K step of 64 dropped", .stage = "gemm1", .meaning = "ragged tile not computed", .size = real, .alter_inputs = in::last_step_dropped},
    Defect{.name = "K tail of 32 counted twice", .stage = "gemm1", .meaning = "overlapping tiles", .size = real, .alter_inputs = in::tail_counted_twice},
    Defect{.name = "bf16 accumulation", .stage = "gemm1", .meaning = "running sum kept in bf16 every 64 products", .size = wide, .edited = "gemm1_out", .edit = edits::accumulated_in_bf16},
    Defect{.name = "f16 accumulation", .stage = "gemm1", .meaning = "running sum kept in f16 every 64 products", .size = real, .edited = "gemm1_out", .edit = edits::accumulated_in_f16},
    Defect{.name = "double rounding through f16", .stage = "gemm1", .meaning = "fp32 to f16 to bf16", .size = wide, .edited = "gemm1_out", .edit = edits::rounded_twice},
    Defect{.name = "truncation for rounding", .stage = "gemm1", .meaning = "upper half of the fp32 bits", .size = wide, .edited = "gemm1_out", .edit = edits::truncated},

    // One unit of the last place.
    Defect{.name = "one bf16 ulp in gemm1_out, K = 256", .stage = "gemm1", .meaning = "one element", .edited = "gemm1_out", .edit = edits::one_ulp},
    Defect{.name = "one bf16 ulp in gemm1_out, K = 256, middling element", .stage = "gemm1", .meaning = "one element", .edited = "gemm1_out", .edit = edits::one_ulp_of_a_middling_element},
    Defect{.name = "one bf16 ulp in gemm1_out, K = 2048", .stage = "gemm1", .meaning = "one element", .size = wide, .edited = "gemm1_out", .edit = edits::one_ulp},
    Defect{.name = "one bf16 ulp in gemm1_out, K = 7168, exact data", .stage = "gemm1", .meaning = "one element", .size = real, .setup = healthy::exact, .edited = "gemm1_out", .edit = edits::one_ulp_of_a_middling_element},
    Defect{.name = "one f16 ulp in gemm1_out, K = 256", .stage = "gemm1", .meaning = "one element", .setup = healthy::f16, .edited = "gemm1_out", .edit = edits::one_ulp},
    Defect{.name = "one bf16 ulp in act_out", .stage = "activation", .meaning = "one element", .edited = "act_out", .edit = edits::one_ulp},
    Defect{.name = "one bf16 ulp in moe_out", .stage = "scale_add", .meaning = "one element", .size = wide, .edited = "moe_out", .edit = edits::one_ulp},
    Defect{.name = "one fp32 ulp in gemm1_out, K = 256", .stage = "gemm1", .meaning = "one element", .setup = healthy::f32, .edited = "gemm1_out", .edit = edits::one_ulp, .invisible = kLegitimate},
    Defect{.name = "one fp32 ulp in gemm1_out, K = 7168, exact data", .stage = "gemm1", .meaning = "one element", .size = real, .setup = healthy::exact_f32, .edited = "gemm1_out", .edit = edits::one_ulp},
    Defect{.name = "one weight off by 2^-7, K = 7168, exact data", .stage = "gemm1", .meaning = "one weight of 3.6 million", .size = real, .setup = healthy::exact_f32, .alter_inputs = in::one_weight_off},

    // Weights and layouts.
    Defect{.name = "gate and up of one expert swapped", .stage = "gemm1", .meaning = "w1 and w3 exchanged by the loader", .size = wide, .alter_inputs = in::gate_up_swapped},
    Defect{.name = "gate and up interleaved", .stage = "gemm1", .meaning = "layout of another kernel", .alter_inputs = in::gate_up_interleaved},
    Defect{.name = "two experts swapped", .stage = "gemm1", .meaning = "expert map off", .size = wide, .alter_inputs = in::experts_swapped},
    Defect{.name = "w2 rows of one expert moved by one", .stage = "gemm2", .meaning = "offset by a row", .size = wide, .alter_inputs = in::w2_rows_rolled},

    // Scales and codes.
    Defect{.name = "scale blocks shifted along K", .stage = "gemm1", .meaning = "block index off by one", .size = real, .setup = healthy::fp8_block, .alter_inputs = in::scales_shifted_along_k},
    Defect{.name = "scale blocks shifted along N", .stage = "gemm1", .meaning = "block index off by one", .size = wide, .setup = healthy::fp8_block, .alter_inputs = in::scales_shifted_along_n},
    Defect{.name = "one scale block off by 2^-6", .stage = "gemm1", .meaning = "scale kept in a narrower format", .size = real, .setup = healthy::fp8_block, .alter_inputs = in::one_scale_off},
    Defect{.name = "up half takes the scales of the gate half", .stage = "gemm1", .meaning = "merged w13 scales", .size = wide, .setup = healthy::fp8_ragged, .alter_inputs = in::up_scales_from_gate},
    Defect{.name = "e4m3fnuz scales not doubled", .stage = "gemm1", .meaning = "load-time normalisation half done", .size = wide, .setup = healthy::fp8_fnuz, .alter_inputs = in::scales_halved},
    Defect{.name = "fmax 224 for 240", .stage = "quantize_a1", .meaning = "another maximum on e4m3fnuz", .setup = healthy::fp8_fnuz, .alter_case = instead::fmax_224},
    Defect{.name = "activation scales rounded to powers of two", .stage = "quantize_a1", .meaning = "ue8m0 where fp32 is meant", .size = wide, .setup = healthy::fp8_block, .alter_case = instead::ue8m0},
    Defect{.name = "amax floor 1e-4 for 1e-30", .stage = "quantize_a1", .meaning = "small activations lost", .setup = healthy::fp8_small_x, .alter_case = instead::high_floor},
    Defect{.name = "activation scales of the next group", .stage = "quantize_a1", .meaning = "group index off by one", .size = wide, .setup = healthy::fp8_block, .edited = "a1_scales", .edit = edits::shifted_columns},
    Defect{.name = "activation scale 2^-7 too large", .stage = "quantize_a1", .meaning = "stale or approximate maximum", .setup = healthy::fp8_channel, .edited = "a1_scales", .edit = edits::slightly_scaled},
    Defect{.name = "one fp8 code one step off", .stage = "quantize_a1", .meaning = "wrong conversion", .size = real, .setup = healthy::fp8_block, .edited = "a1_codes", .edit = edits::one_code},
    Defect{.name = "int8 halves away from zero", .stage = "quantize_a1", .meaning = "round() for rint()", .setup = healthy::int8_exact, .alter_case = instead::halves_away},
    Defect{.name = "one int8 code one step off", .stage = "quantize_a2", .meaning = "wrong conversion", .setup = healthy::int8, .edited = "a2_codes", .edit = edits::one_code},
    Defect{.name = "int4 nibbles of one row swapped", .stage = "gemm1", .meaning = "high nibble first", .size = wide, .setup = healthy::int4, .alter_inputs = in::nibbles_swapped},
    Defect{.name = "int4 zero point 7 for 8", .stage = "gemm1", .meaning = "offset by one", .size = wide, .setup = healthy::int4, .alter_inputs = in::zero_point_seven},
    Defect{.name = "mxfp4 scales shifted along K", .stage = "gemm1", .meaning = "group index off by one", .size = wide, .setup = healthy::mxfp4, .alter_inputs = in::scales_shifted_along_k},

    // Activation and combination.
    Defect{.name = "gelu for gelu_tanh", .stage = "activation", .meaning = "erf for its tanh approximation", .setup = healthy::gelu_tanh, .alter_case = instead::gelu_erf},
    Defect{.name = "clamp forgotten", .stage = "activation", .meaning = "silu for swiglu_clamped", .setup = healthy::clamped, .alter_case = instead::plain_silu},
    Defect{.name = "activation rounded once for twice", .stage = "activation", .meaning = "no cast between silu and the product", .alter_case = instead::round_once},
    Defect{.name = "weight before the cast for after", .stage = "gemm2", .meaning = "weight in gemm2's accumulator", .size = wide, .alter_program = instead::weight_before_the_cast},
    Defect{.name = "weight on the output for the input", .stage = "gemm1", .meaning = "Llama-4's weight applied late", .setup = healthy::weight_on_gemm1, .alter_case = instead::weight_on_output},
    Defect{.name = "bf16 sum over slots", .stage = "combine", .meaning = "moe_sum's rounding after every slot", .setup = healthy::top4, .alter_case = instead::sum_in_model_dtype},
    Defect{.name = "factor twice", .stage = "router", .meaning = "in the weights and on the output", .alter_program = instead::factor_twice},
    Defect{.name = "factor left out", .stage = "scale_add", .meaning = "routed_scaling_factor never applied", .size = wide, .alter_program = instead::factor_left_out},
    Defect{.name = "shared experts left out", .stage = "scale_add", .meaning = "columns dropped", .size = wide, .alter_program = instead::shared_left_out},

    // Routing.
    Defect{.name = "bias in bf16", .stage = "router", .meaning = "bias cast to the model dtype", .setup = healthy::many_experts, .alter_inputs = in::bias_in_bf16},
    Defect{.name = "gate in bf16", .stage = "router", .meaning = "fp32 gate rounded", .setup = healthy::f32, .alter_inputs = in::gate_in_bf16},
    Defect{.name = "two gate rows swapped", .stage = "router", .meaning = "loader", .size = wide, .alter_inputs = in::gate_rows_swapped},
    Defect{.name = "bias moved by one expert", .stage = "router", .meaning = "offset", .alter_inputs = in::bias_shifted},
    Defect{.name = "scores in bf16", .stage = "router", .meaning = "sigmoid in the model dtype", .setup = healthy::many_experts, .alter_case = instead::scores_in_bf16},
    Defect{.name = "weights in bf16", .stage = "router", .meaning = "weights cast to the model dtype", .alter_case = instead::weights_in_bf16},
    Defect{.name = "softmax for sigmoid", .stage = "router", .meaning = "another model's router", .alter_case = instead::softmax_scores},
    Defect{.name = "weights not normalised", .stage = "router", .meaning = "norm_topk_prob ignored", .alter_case = instead::no_normalisation},
    Defect{.name = "group score by maximum", .stage = "router", .meaning = "for the sum of the best two", .setup = healthy::groups, .alter_case = instead::group_maximum},
    Defect{.name = "mask 0 for -inf", .stage = "router", .meaning = "groups that are out win against negative scores", .setup = healthy::negative_groups, .alter_case = instead::mask_zero},
    Defect{.name = "weights of two tokens swapped", .stage = "router", .meaning = "row index", .edited = "topk_weights", .edit = edits::swapped_rows},
    Defect{.name = "weights of a token's slots swapped", .stage = "router", .meaning = "order of columns", .edited = "topk_weights", .edit = edits::swapped_columns},

    // Rows.
    Defect{.name = "one token lost of 4096", .stage = "combine", .meaning = "row of zeros", .size = many, .edited = "routed_out", .edit = edits::lost_row},
    Defect{.name = "two tokens of 4096 swapped", .stage = "combine", .meaning = "permutation off", .size = many, .edited = "routed_out", .edit = edits::swapped_rows},
    Defect{.name = "last row a copy of the one before", .stage = "gemm2", .meaning = "row index clamped too early", .size = wide, .edited = "gemm2_out", .edit = edits::repeated_row},
    Defect{.name = "one per cent stale", .stage = "gemm1", .meaning = "elements of an earlier tile", .size = wide, .edited = "gemm1_out", .edit = edits::stale_percent},
    Defect{.name = "one bf16 ulp in one element of 4096 tokens", .stage = "combine", .meaning = "one element of 262144", .size = many, .edited = "routed_out", .edit = edits::one_ulp_of_a_middling_element},
};
// clang-format on

struct SizeRow {
  std::int64_t tokens, hidden, inter, experts, top_k;
};
constexpr std::array<SizeRow, 4> kSizes{
    {{16, 256, 128, 8, 2}, {16, 2048, 128, 4, 2}, {8, 7168, 64, 4, 2}, {4096, 64, 32, 8, 2}}};

}  // namespace

std::span<const Defect> defects() { return kDefects; }

Case healthy_case(const Defect& defect) {
  const SizeRow& size = kSizes[static_cast<std::size_t>(defect.size)];
  Case spec;
  spec.id = defect.name;
  spec.scenario = "sensitivity";
  spec.seed = 7;
  spec.tokens = size.tokens;
  spec.shape.hidden = size.hidden;
  spec.shape.inter = size.inter;
  spec.shape.experts = size.experts;
  spec.shape.top_k = size.top_k;
  spec.shape.n_shared = 1;
  spec.shape.routed_scaling_factor = 2.5;
  if (defect.setup != nullptr) defect.setup(spec);
  return spec;
}

std::vector<double> EditContext::operand(std::string_view slot) const {
  const Step& call = program.steps[static_cast<std::size_t>(step)];
  const auto index = static_cast<std::size_t>(slot_index(call.op, slot));
  return to_doubles(call.operands[index].dtype, run.capture.operands[static_cast<std::size_t>(step)][index]);
}

}  // namespace moediff
