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
constexpr std::array<Names, 2> kDistributions{"normal", "integers"};
constexpr std::array<Names, 2> kModelDTypes{to_string(DType::f32), to_string(DType::bf16)};
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
    key("input.distribution", axis, word_text<kDistributions>([](auto& c) -> auto& { return c.input.distribution; }),
        "normal", "generated: normal values, or small integers that make linear stages exact"),
    key("input.bias_scale", axis,
        number(
            [](auto& c) -> auto& { return c.input.bias_scale; }, kScale, "bias"),
        "0.1", "generated: spread of e_score_correction_bias"),
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
    key("dtype", axis, word<kModelDTypes>([](auto& c) -> auto& { return c.dtype; }), "bf16",
        "model dtype: activations and weights"),
    key("tokens", axis,
        whole(
            [](auto& c) -> auto& { return c.tokens; }, kRows, "t"),
        kRequired, "rows of the batch; of a capture, its first rows"),
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
static_assert(kModelDTypes[static_cast<std::size_t>(DType::bf16)] == "bf16" &&
              kModelDTypes[static_cast<std::size_t>(DType::f32)] == "f32");
static_assert(kExpectable[static_cast<std::size_t>(Status::inconclusive)] == "inconclusive");

}  // namespace

std::span<const KeyRow> schema() { return kSchema; }

}  // namespace moediff
