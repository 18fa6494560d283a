// The rows of the schema. To add a key: a field in case.h, a row here, a line in scenarios/README.md (a test says
// which).
#include <array>

#include "harness/model/ops.h"
#include "harness/scenario/schema_forms.h"

namespace moediff {
namespace {

using namespace forms;
using enum KeyRole;
using Names = std::string_view;

constexpr std::array<Names, 2> kInputKinds{"generated", "capture"};
constexpr std::array<Names, 3> kModelDTypes{to_string(DType::f32), to_string(DType::bf16), to_string(DType::f16)};
constexpr auto kSchemeNames = [] {
  std::array<Names, kQuantSchemes.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kQuantSchemes[i].name;
  return names;
}();
// What an experiment can be expected to end in; skipped and error are not its outcome.
constexpr std::array<Names, 3> kExpectable{to_string(Status::pass), to_string(Status::fail),
                                           to_string(Status::inconclusive)};

// What can be blamed: ops, and the copies that builders make.
constexpr auto kOpNames = [] {
  std::array<Names, kOpKinds + kCopyNames.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = i < kOpKinds ? kOps[i].name : kCopyNames[i - kOpKinds];
  return names;
}();
constexpr auto kCauseNames = [] {
  std::array<Names, kCauses.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kCauses[i].name;
  return names;
}();

// Limits that keep a slip of the finger from asking for terabytes; far above any published model.
constexpr Range kWidth{1, 65536}, kCount{1, 4096}, kRows{1, 1 << 20}, kMaybeRows{0, 1 << 20};
constexpr Range kExact{0, 9007199254740992};  // 2^53: every reader of the JSON record keeps it exact
constexpr Range kScale{0, 1e6}, kFactor{0, 1e6, true}, kSeconds{0, 86400, true};

constexpr Form layer_number() {
  return {KeyType::integer,
          {0, 65536},
          {},
          "layer",
          [](const Case& c) { return c.input.layer ? std::to_string(*c.input.layer) : ""; },
          [](Case& c, std::string_view text) { c.input.layer = static_cast<int>(parse_integer(text).value()); }};
}
constexpr Form model_dtype() {
  return {KeyType::word,
          {},
          kModelDTypes,
          "",
          [](const Case& c) { return std::string(to_string(c.dtype)); },
          [](Case& c, std::string_view text) {
            for (const DTypeRow& row : kDTypes) {
              if (row.name == text) c.dtype = row.dtype;
            }
          }};
}
constexpr Form derived_stream() {
  return {
      KeyType::word, {}, kStreamModeNames, "", [](const Case& c) { return std::string(to_string(c.effective_stream)); },
      nullptr};
}
constexpr Form schedule_text() {
  return {KeyType::schedule,
          {},
          {},
          "",
          [](const Case& c) { return to_string(c.schedule); },
          [](Case& c, std::string_view text) { c.schedule = parse_schedule(text).value(); }};
}
constexpr Form fault_name() {
  return {KeyType::text,
          {},
          {},
          "",
          [](const Case& c) { return c.fault.empty() ? std::string("none") : c.fault; },
          [](Case& c, std::string_view text) { c.fault = text == "none" ? "" : text; }};
}
constexpr Form cause_name() {
  return {KeyType::word,
          {},
          kCauseNames,
          "",
          [](const Case& c) { return std::string(c.expect.cause ? to_string(*c.expect.cause) : ""); },
          [](Case& c, std::string_view text) {
            for (const CauseRow& row : kCauses) {
              if (row.name == text) c.expect.cause = row.cause;
            }
          }};
}

constexpr std::array kSchema{
    key("scenario", fixed, text([](auto& c) -> auto& { return c.title; }), kRequired,
        "title, one line; a file without it only serves `include`"),
    key("id", fixed, text([](auto& c) -> auto& { return c.id; }), "",
        "how case ids begin; without it, the path of the file below `scenarios`"),
    section("include", KeyType::paths, "files whose keys hold where this file gives none"),

    section("model", KeyType::map, "dimensions and constants of the MoE layer"),
    key("model.hidden", axis,
        whole(
            [](auto& c) -> auto& { return c.shape.hidden; }, kWidth, "h"),
        kRequired, "width of a token's row (hidden_size)"),
    key("model.inter", axis,
        whole(
            [](auto& c) -> auto& { return c.shape.inter; }, kWidth, "i"),
        kRequired, "width inside an expert (moe_intermediate_size)"),
    key("model.experts", axis,
        whole(
            [](auto& c) -> auto& { return c.shape.experts; }, kCount, "e"),
        kRequired, "routed experts (n_routed_experts)"),
    key("model.top_k", axis,
        whole(
            [](auto& c) -> auto& { return c.shape.top_k; }, kCount, "k"),
        kRequired, "experts a token (num_experts_per_tok)"),
    key("model.n_group", axis,
        whole(
            [](auto& c) -> auto& { return c.shape.n_group; }, kCount, "g"),
        "1", "groups of experts"),
    key("model.topk_group", axis,
        whole(
            [](auto& c) -> auto& { return c.shape.topk_group; }, kCount, "kg"),
        "1", "groups a token may choose from"),
    key("model.n_shared", axis,
        whole(
            [](auto& c) -> auto& { return c.shape.n_shared; }, {0, 64}, "s"),
        "0", "shared experts (n_shared_experts)"),
    key("model.norm_topk_prob", axis,
        flag(
            [](auto& c) -> auto& { return c.shape.norm_topk_prob; }, "norm|nonorm"),
        "true", "divide the weights of a token by their sum"),
    key("model.routed_scaling_factor", axis,
        number(
            [](auto& c) -> auto& { return c.shape.routed_scaling_factor; }, kFactor, "factor"),
        "1", "factor of the routed output"),

    section("input", KeyType::map, "where activations and weights come from"),
    key("input.kind", axis, word<kInputKinds>([](auto& c) -> auto& { return c.input.kind; }), "generated",
        "drawn from the seed, or read from a capture and a checkpoint"),
    key("input.distribution", axis, word<kDistributionNames>([](auto& c) -> auto& { return c.input.distribution; }),
        "normal", "generated: how values are spread; integers make linear stages exact"),
    key("input.bias_scale", axis,
        number(
            [](auto& c) -> auto& { return c.input.bias_scale; }, kScale, "bias"),
        "0.1", "generated: spread of e_score_correction_bias"),
    key("input.idle_experts", axis,
        whole(
            [](auto& c) -> auto& { return c.input.idle_experts; }, {0, 4096}, "idle"),
        "0", "generated: the last experts, which no token chooses"),
    key("input.capture", axis, path([](auto& c) -> auto& { return c.input.capture; }), "",
        "capture: safetensors file with the activations of a real run"),
    key("input.checkpoint", axis, path([](auto& c) -> auto& { return c.input.checkpoint; }), "",
        "capture: safetensors file with the weights"),
    key("input.hidden_states", axis, text([](auto& c) -> auto& { return c.input.hidden_states; }), "",
        "capture: name of the input tensor"),
    key("input.weights_prefix", axis, text([](auto& c) -> auto& { return c.input.weights_prefix; }), "",
        "capture: what the layer's weight names begin with"),
    key("input.expected_prefix", axis, text([](auto& c) -> auto& { return c.input.expected_prefix; }), "",
        "capture: what the names of expected values begin with; none: it holds none"),
    key("input.layer", axis, layer_number(), "", "capture: number of the layer, for reports"),

    key("seed", axis,
        whole(
            [](auto& c) -> auto& { return c.seed; }, kExact, "seed"),
        "0", "every random value follows from it"),
    key("dtype", axis, model_dtype(), "bf16", "model dtype: activations, and weights that are not quantised"),
    key("arithmetic", axis, word<kArithmeticNames>([](auto& c) -> auto& { return c.arithmetic; }), "floating",
        "floating: the model dtype; field: integers modulo 2^61 - 1, exact, given ids and weights of the router"),
    key("tokens", axis,
        whole(
            [](auto& c) -> auto& { return c.tokens; }, kRows, "t"),
        kRequired, "rows of the batch; of a capture, its first rows"),
    key("variation", axis, word<kVariationNames>([](auto& c) -> auto& { return c.variation; }), "none",
        "a change of the batch or weights that must not change the tokens' results; relations compare"),
    key("stream", axis, word<kStreamModeNames>([](auto& c) -> auto& { return c.stream; }), "none",
        "shared experts on the main stream, on an auxiliary stream, or fused into the routed experts"),
    key("effective_stream", derived, derived_stream(), "",
        "what `stream` comes to: aux falls back to none above aux_threshold tokens and when chunked; may be stated, "
        "then it "
        "must be true"),
    key("aux_threshold", axis,
        whole(
            [](auto& c) -> auto& { return c.aux_threshold; }, kExact, "threshold"),
        "256", "most tokens for which aux stays aux"),
    key("order", axis, word<kIssueOrderNames>([](auto& c) -> auto& { return c.order; }), "routed_first",
        "which experts the host issues first"),
    key("in_place", axis,
        flag(
            [](auto& c) -> auto& { return c.in_place; }, "inplace|outofplace"),
        "false", "the routed result is written over the input"),
    key("chunk", axis,
        whole(
            [](auto& c) -> auto& { return c.chunk; }, kMaybeRows, "c"),
        "0", "tokens a chunk; 0: not chunked"),
    key("split_k", axis,
        whole(
            [](auto& c) -> auto& { return c.split_k; }, {1, 64}, "split"),
        "1", "partial sums of gemm1 and shared_gemm1, kept in a workspace; 1: none"),
    key("residual", axis,
        flag(
            [](auto& c) -> auto& { return c.residual; }, "residual|noresidual"),
        "false", "add hidden_states to the layer's output"),
    key("schedule", axis, schedule_text(), "submission", "which ready stream the device serves first"),
    key("provider", axis, text([](auto& c) -> auto& { return c.provider; }), "builtin", "whose kernels run"),
    key("fault", axis, fault_name(), "none", "fault to plant: a row of the fault table, or none"),
    key("drop_wait", axis, text([](auto& c) -> auto& { return c.drop_wait; }), "",
        "with `fault: drop_wait`: name of the wait to leave out"),
    key("timeout", axis,
        number(
            [](auto& c) -> auto& { return c.timeout_seconds; }, kSeconds, "timeout"),
        "60", "seconds after which a run counts as hanging"),

    section("router", KeyType::map, "how experts are scored, chosen and weighed"),
    key("router.scoring", axis, word<kScoringNames>([](auto& c) -> auto& { return c.router.scoring; }), "sigmoid",
        "score of an expert: sigmoid of its logit, or softmax over all experts"),
    key("router.bias", axis,
        flag(
            [](auto& c) -> auto& { return c.router.bias; }, "bias|nobias"),
        "true", "add e_score_correction_bias to the score for the choice"),
    key("router.group_score", axis, word<kGroupScoreNames>([](auto& c) -> auto& { return c.router.group_score; }),
        "top2_sum", "score of a group: sum of its two best choices, or the best"),
    key("router.mask", axis, word<kMaskValueNames>([](auto& c) -> auto& { return c.router.mask; }), "neg_inf",
        "choice of experts outside the chosen groups: -inf, or 0 (Hugging Face)"),
    key("router.logits_in", axis, word<kKeptInNames>([](auto& c) -> auto& { return c.router.logits_in; }), "fp32",
        "precision of the logits: fp32, or the model dtype"),
    key("router.scores_in", axis, word<kKeptInNames>([](auto& c) -> auto& { return c.router.scores_in; }), "fp32",
        "precision of the scores"),
    key("router.bias_in", axis, word<kKeptInNames>([](auto& c) -> auto& { return c.router.bias_in; }), "fp32",
        "precision of the bias"),
    key("router.choice_in", axis, word<kKeptInNames>([](auto& c) -> auto& { return c.router.choice_in; }), "fp32",
        "precision of score + bias"),
    key("router.weights_in", axis, word<kKeptInNames>([](auto& c) -> auto& { return c.router.weights_in; }), "fp32",
        "precision of the finished weights"),
    key("router.weight_from", axis, word<kWeightSourceNames>([](auto& c) -> auto& { return c.router.weight_from; }),
        "score", "weight before normalisation: the score as kept, the score afresh in fp32, or (score + bias) - bias"),
    key("router.norm_epsilon", axis,
        number(
            [](auto& c) -> auto& { return c.router.norm_epsilon; }, {0, 1}, "eps"),
        "0", "added to the sum that weights are divided by (Hugging Face 1e-20)"),
    key("router.factor", axis, word<kFactorPlaceNames>([](auto& c) -> auto& { return c.router.factor; }), "output",
        "who multiplies by routed_scaling_factor: the output, or the router"),
    key("router.weight_on", axis, word<kWeightPlaceNames>([](auto& c) -> auto& { return c.router.weight_on; }),
        "combine",
        "where weights are applied: in combine, in the accumulator of gemm2 or gemm1, or to the input (top-1)"),
    key("router.not_finite", axis, word<kNotFiniteNames>([](auto& c) -> auto& { return c.router.not_finite; }),
        "lowest", "choice of rows with NaN or inf: lowest ids fill up, or ids 0..k-1 with weights 1/k"),

    section("expert", KeyType::map, "what experts compute besides their matrix products"),
    key("expert.activation", axis, word<kActivationNames>([](auto& c) -> auto& { return c.expert.activation; }), "silu",
        "gated activation"),
    key("expert.activation_rounding", axis,
        word<kActivationRoundingNames>([](auto& c) -> auto& { return c.expert.activation_rounding; }), "twice",
        "round the activated gate and the product, or the product only"),
    key("expert.limit", axis,
        number(
            [](auto& c) -> auto& { return c.expert.limit; }, kFactor, "limit"),
        "7", "clamp of swiglu_clamped and swigluoai"),
    key("expert.sum", axis, word<kCombineSumNames>([](auto& c) -> auto& { return c.expert.sum; }), "fp32",
        "combine: sum in fp32, or as vLLM's moe_sum (2 to 4 slots in the model dtype)"),

    section("quant", KeyType::map, "number formats of weights and activations"),
    key("quant.scheme", axis, word<kSchemeNames>([](auto& c) -> auto& { return c.quant.scheme; }), "none",
        "what is quantised, and how scales are laid out"),
    key("quant.fp8", axis, word<kFp8KindNames>([](auto& c) -> auto& { return c.quant.fp8; }), "e4m3fn",
        "fp8 schemes: e4m3fn, or e4m3fnuz as gfx942 has it, normalised at load"),
    key("quant.scales", axis, word<kScaleKindNames>([](auto& c) -> auto& { return c.quant.scales; }), "fp32",
        "scales of activations and blocks: any, or powers of two"),
    key("quant.group", axis,
        whole(
            [](auto& c) -> auto& { return c.quant.group; }, {1, 4096}, "group"),
        "128", "fp8_block: block and group size; int4_group: group size"),
    key("quant.fmax", axis,
        number(
            [](auto& c) -> auto& { return c.quant.fmax; }, {0, 448}, "fmax"),
        "0", "what the largest magnitude maps to; 0: the format's maximum (vLLM on e4m3fnuz: 224)"),
    key("quant.amax_floor", axis,
        number(
            [](auto& c) -> auto& { return c.quant.amax_floor; }, {0, 1}, "floor"),
        "1e-10", "least magnitude that makes a scale (DeepSeek 1e-4, vLLM 1e-10)"),
    key("quant.scale_from", axis, word<kScaleFromNames>([](auto& c) -> auto& { return c.quant.scale_from; }),
        "division", "scale = amax / fmax, or amax * (1 / fmax)"),
    key("quant.scale_by", axis, word<kScaleByNames>([](auto& c) -> auto& { return c.quant.scale_by; }), "division",
        "code from x / scale, x * (1 / scale), or x * (fmax / amax)"),
    key("quant.half_to", axis, word<kHalfToNames>([](auto& c) -> auto& { return c.quant.half_to; }), "even",
        "int8 codes: halves to even, or away from zero"),
    key("quant.ragged", axis, word<kRaggedNames>([](auto& c) -> auto& { return c.quant.ragged; }), "pad",
        "sizes that are no multiple of the block: a short last block, or refused (vLLM)"),
    key("quant.shared", axis, word<kSharedWeightsNames>([](auto& c) -> auto& { return c.quant.shared; }), "same",
        "shared experts: quantised likewise, or in the model dtype"),
    key("quant.quantize_a2", axis, word<kQuantizeA2Names>([](auto& c) -> auto& { return c.quant.quantize_a2; }),
        "separate", "second quantisation: an op of its own, or fused with the activation"),

    section("axes", KeyType::map, "keys with lists of values; the lists multiply"),
    section("lockstep", KeyType::maps, "keys with lists of equal length that advance together, as one axis"),
    section("expect", KeyType::maps, "what must come out: rules, of which the first that fits a case holds"),
    section("expect.when", KeyType::map, "conditions on axes and derived keys, all of which must hold; none: always"),
    key("expect.status", expectation, word<kExpectable>([](auto& c) -> auto& { return c.expect.status; }), "pass",
        "verdict of the case"),
    key("expect.cause", expectation, cause_name(), "", "cause of the failure"),
    section("expect.blame", KeyType::map, "who is to blame; compared where stated"),
    key("expect.blame.op", expectation, word_text<kOpNames>([](auto& c) -> auto& { return c.expect.blame_op; }), "",
        "op whose result is wrong"),
    key("expect.blame.value", expectation, text([](auto& c) -> auto& { return c.expect.blame_value; }), "",
        "logical tensor that was not what it should be"),
    key("expect.blame.buffer", expectation, text([](auto& c) -> auto& { return c.expect.blame_buffer; }), "",
        "memory it lay in"),
    key("expect.blame.writer", expectation, word_text<kOpNames>([](auto& c) -> auto& { return c.expect.blame_writer; }),
        "", "op that spoilt it"),
};

// `word` takes the place of a name in its list for the enumerator.
static_assert(kExpectable[static_cast<std::size_t>(Status::inconclusive)] == "inconclusive");

}  // namespace

std::span<const KeyRow> schema() { return kSchema; }

}  // namespace moediff
