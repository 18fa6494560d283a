#include "harness/scenario/case_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace moediff {
namespace {

struct Broken {
  std::string rule, remedy;
};
using Answer = std::optional<Broken>;  ///< nothing: the rule holds

struct CaseRule {
  std::string_view key;                ///< to blame
  std::array<std::string_view, 6> on;  ///< further keys that the rule reads
  Answer (*check)(const Draft&);
};

bool given(const Draft& draft, std::string_view path) { return draft.given[index_of(*find_key(path))] != nullptr; }

std::string divisors(std::int64_t number) {
  std::string text;
  for (std::int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) text += (text.empty() ? "" : ", ") + std::to_string(d);
  }
  return text;
}

Answer top_k_within_experts(const Draft& d) {
  const MoeShape& s = d.spec.shape;
  if (s.top_k <= s.experts) return std::nullopt;
  return Broken{fmt::format("top_k must not exceed experts ({})", s.experts),
                fmt::format("use a value from 1 to {}", s.experts)};
}
Answer groups_divide_experts(const Draft& d) {
  const MoeShape& s = d.spec.shape;
  if (s.experts % s.n_group == 0) return std::nullopt;
  return Broken{fmt::format("n_group must divide experts ({})", s.experts), "use one of " + divisors(s.experts)};
}
Answer topk_group_within_groups(const Draft& d) {
  const MoeShape& s = d.spec.shape;
  if (s.topk_group <= s.n_group) return std::nullopt;
  return Broken{fmt::format("topk_group must not exceed n_group ({})", s.n_group),
                fmt::format("use a value from 1 to {}", s.n_group)};
}
Answer top_k_within_groups(const Draft& d) {
  if (groups_divide_experts(d) || topk_group_within_groups(d)) return std::nullopt;  // said already
  const MoeShape& s = d.spec.shape;
  const std::int64_t choice = s.experts / s.n_group * s.topk_group;
  if (s.top_k <= choice) return std::nullopt;
  return Broken{fmt::format("top_k must not exceed the {} experts in topk_group ({}) of the n_group ({}) groups",
                            choice, s.topk_group, s.n_group),
                fmt::format("use a value from 1 to {}, or raise topk_group", choice)};
}
// Grids of 65535 blocks of 32 rows are the limit of a launch; half of that leaves room for the ragged tiles of experts.
Answer rows_within_a_launch(const Draft& d) {
  constexpr std::int64_t kRows = std::int64_t{1} << 20;
  const std::int64_t width = d.spec.shape.top_k + d.spec.shape.n_shared,
                     most = kRows / std::max<std::int64_t>(width, 1);
  if (d.spec.tokens <= most) return std::nullopt;
  return Broken{fmt::format("tokens times (top_k + n_shared) must not exceed {} rows", kRows),
                fmt::format("use at most {} tokens", most)};
}
Answer split_k_within_hidden(const Draft& d) {
  if (d.spec.split_k <= d.spec.shape.hidden) return std::nullopt;
  return Broken{fmt::format("split_k must not exceed hidden ({})", d.spec.shape.hidden),
                fmt::format("use a value from 1 to {}", d.spec.shape.hidden)};
}

Answer weight_on_input_is_top_1(const Draft& d) {
  if (d.spec.router.weight_on != WeightPlace::input || d.spec.shape.top_k == 1) return std::nullopt;
  return Broken{"a weight on the input needs top_k 1: a token has one input and as many weights as experts",
                "use weight_on: gemm1, or top_k: 1"};
}
Answer idle_experts_leave_enough(const Draft& d) {
  const std::int64_t most = d.spec.shape.experts - d.spec.shape.top_k;
  if (d.spec.input.idle_experts == 0 || d.spec.input.idle_experts <= most) return std::nullopt;
  return Broken{
      fmt::format("idle_experts must leave top_k ({}) of the {} experts", d.spec.shape.top_k, d.spec.shape.experts),
      fmt::format("use a value from 0 to {}", std::max<std::int64_t>(most, 0))};
}
Answer idle_experts_need_one_group(const Draft& d) {
  if (d.spec.input.idle_experts == 0 || d.spec.shape.n_group == 1) return std::nullopt;
  return Broken{"idle_experts needs n_group 1: in groups a token may be left with idle experts only",
                "remove idle_experts, or use n_group: 1"};
}
Answer poison_needs_idle_experts(const Draft& d) {
  if (d.spec.variation != Variation::poisoned_idle || d.spec.input.idle_experts > 0) return std::nullopt;
  return Broken{"variation: poisoned_idle needs experts that no token chooses", "add input.idle_experts"};
}
Answer shift_needs_softmax(const Draft& d) {
  if (d.spec.variation != Variation::shifted || d.spec.router.scoring == Scoring::softmax) return std::nullopt;
  return Broken{"variation: shifted needs scoring: softmax, whose scores do not depend on a shift of all logits",
                "use router.scoring: softmax"};
}
Answer variation_is_generated(const Draft& d) {
  if (d.spec.variation == Variation::none || d.spec.input.kind == InputSource::Kind::generated) return std::nullopt;
  return Broken{"a variation changes generated inputs", "remove it, or use input.kind: generated"};
}
Answer field_is_generated(const Draft& d) {
  if (d.spec.arithmetic == Arithmetic::floating || d.spec.input.kind == InputSource::Kind::generated)
    return std::nullopt;
  return Broken{"arithmetic: field draws its elements; a capture holds reals", "use input.kind: generated"};
}
Answer scheme_is_generated(const Draft& d) {
  if (d.spec.quant.scheme == QuantScheme::none || d.spec.input.kind == InputSource::Kind::generated)
    return std::nullopt;
  return Broken{"quantised weights are generated", "use quant.scheme: none, or input.kind: generated"};
}
Answer fmax_within_format(const Draft& d) {
  const QuantSpec& q = d.spec.quant;
  const CodeFormat format = row(q.scheme).weight;
  const double most = format == CodeFormat::int8                                ? 127
                      : format == CodeFormat::fp8 && q.fp8 == Fp8Kind::e4m3fnuz ? 240
                                                                                : 448;
  if (q.fmax > 0 && q.fmax < 1)
    return Broken{"fmax must be 0, or at least 1: smaller ones leave no codes", "use a value from 1, or 0"};
  if (q.fmax <= most) return std::nullopt;
  return Broken{fmt::format("fmax must not exceed the format's largest value ({})", most),
                fmt::format("use a value up to {}, or 0", most)};
}

// Keys of one kind of input. `needed`: without them the other kind would be read.
struct InputKey {
  std::string_view path;
  InputSource::Kind kind;
  bool needed;
};
constexpr std::array<InputKey, 9> kInputKeys{{
    {"input.distribution", InputSource::Kind::generated, false},
    {"input.bias_scale", InputSource::Kind::generated, false},
    {"input.capture", InputSource::Kind::capture, true},
    {"input.checkpoint", InputSource::Kind::capture, true},
    {"input.hidden_states", InputSource::Kind::capture, true},
    {"input.weights_prefix", InputSource::Kind::capture, true},
    {"input.expected_prefix", InputSource::Kind::capture, false},
    {"input.layer", InputSource::Kind::capture, false},
    {"input.idle_experts", InputSource::Kind::generated, false},
}};

Answer input_is_complete(const Draft& d) {
  std::string missing;
  for (const InputKey& key : kInputKeys) {
    if (key.needed && key.kind == d.spec.input.kind && !given(d, key.path))
      missing += (missing.empty() ? "" : ", ") + std::string(key.path);
  }
  if (missing.empty()) return std::nullopt;
  return Broken{"an input of this kind needs " + missing, "add " + missing};
}
template <std::size_t kIndex>
Answer input_key_fits(const Draft& d) {
  constexpr const InputKey& kKey = kInputKeys[kIndex];
  if (d.spec.input.kind == kKey.kind || !given(d, kKey.path)) return std::nullopt;
  const std::string kind = kKey.kind == InputSource::Kind::capture ? "capture" : "generated";
  return Broken{fmt::format("{} is used only with kind: {}", kKey.path, kind), "remove it, or write kind: " + kind};
}

Answer drop_wait_is_named(const Draft& d) {
  if (d.spec.fault != "drop_wait" || !d.spec.drop_wait.empty()) return std::nullopt;
  return Broken{"fault: drop_wait needs the name of a wait", "add drop_wait: and the name"};
}
Answer stated_stream_is_true(const Draft& d) {
  const KeyRow& row = *find_key("effective_stream");
  const Given* stated = d.given[index_of(row)];
  if (stated == nullptr || stated->text == row.get(d.spec)) return std::nullopt;
  return Broken{
      fmt::format("effective_stream follows from stream, tokens, chunk, aux_threshold and n_shared, and is {} here",
                  row.get(d.spec)),
      fmt::format("write {}, or remove the key", row.get(d.spec))};
}

constexpr std::array<CaseRule, 27> kRules{{
    {"model.top_k", {"model.experts"}, top_k_within_experts},
    {"model.n_group", {"model.experts"}, groups_divide_experts},
    {"model.topk_group", {"model.n_group"}, topk_group_within_groups},
    {"model.top_k", {"model.experts", "model.n_group", "model.topk_group"}, top_k_within_groups},
    {"split_k", {"model.hidden"}, split_k_within_hidden},
    {"tokens", {"model.top_k", "model.n_shared"}, rows_within_a_launch},
    {"input.kind",
     {"input.capture", "input.checkpoint", "input.hidden_states", "input.weights_prefix"},
     input_is_complete},
    {"input.distribution", {"input.kind"}, input_key_fits<0>},
    {"input.bias_scale", {"input.kind"}, input_key_fits<1>},
    {"input.capture", {"input.kind"}, input_key_fits<2>},
    {"input.checkpoint", {"input.kind"}, input_key_fits<3>},
    {"input.hidden_states", {"input.kind"}, input_key_fits<4>},
    {"input.weights_prefix", {"input.kind"}, input_key_fits<5>},
    {"input.expected_prefix", {"input.kind"}, input_key_fits<6>},
    {"input.layer", {"input.kind"}, input_key_fits<7>},
    {"input.idle_experts", {"input.kind"}, input_key_fits<8>},
    {"input.idle_experts", {"model.experts", "model.top_k"}, idle_experts_leave_enough},
    {"input.idle_experts", {"model.n_group"}, idle_experts_need_one_group},
    {"router.weight_on", {"model.top_k"}, weight_on_input_is_top_1},
    {"quant.fmax", {"quant.scheme", "quant.fp8"}, fmax_within_format},
    {"quant.scheme", {"input.kind"}, scheme_is_generated},
    {"arithmetic", {"input.kind"}, field_is_generated},
    {"variation", {"input.kind"}, variation_is_generated},
    {"variation", {"input.idle_experts"}, poison_needs_idle_experts},
    {"variation", {"router.scoring"}, shift_needs_softmax},
    {"fault", {"drop_wait"}, drop_wait_is_named},
    {"effective_stream",
     {"stream", "tokens", "chunk", "aux_threshold", "model.n_shared", "variation"},
     stated_stream_is_true},
}};

}  // namespace

void check_case(const Draft& draft, const std::set<const KeyRow*>& unknown, const Place& fallback,
                std::vector<Error>& errors) {
  std::set<std::string_view> unusable, blamed;
  for (const KeyRow* row : unknown) unusable.insert(row->path);
  const auto is_unusable = [&](std::string_view key) { return unusable.contains(key); };
  for (const CaseRule& rule : kRules) {
    if (blamed.contains(rule.key) || is_unusable(rule.key) || std::any_of(rule.on.begin(), rule.on.end(), is_unusable))
      continue;
    Answer broken = rule.check(draft);
    if (!broken) continue;
    const KeyRow& row = *find_key(rule.key);
    const Given* value = draft.given[index_of(row)];
    errors.push_back({value ? value->place : fallback, value ? value->written : row.get(draft.spec),
                      std::move(broken->rule), std::move(broken->remedy)});
    blamed.insert(rule.key);
  }
}

}  // namespace moediff
