// Router: logits as a dot product; then, from the logits that the candidate stored, the legitimacy of its choice and
// the weights of the experts it chose, matched by expert.
#include "harness/compare/router_stage.h"

#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/router.h"
#include "harness/compare/elements.h"
#include "harness/compare/routing.h"
#include "harness/compare/stage_diff.h"

namespace moediff {
namespace {

constexpr int kBias = slot_index(OpKind::router, "gate_bias"), kLogits = slot_index(OpKind::router, "router_logits"),
              kIds = slot_index(OpKind::router, "topk_ids"), kWeights = slot_index(OpKind::router, "topk_weights");

/// What the candidate wrote, and the reference's routing of its logits.
struct Written {
  std::vector<double> logits, bias;
  std::vector<std::int32_t> ids;
  std::int64_t tokens = 0;
  reference::Routing routing;
};

/// The near-ties that logits right within their bound can have. The expected logits are rounded as they are stored.
std::int64_t possible_near_ties(const bounds::Acceptance& logits, const Written& written,
                                const reference::RouterConfig& config) {
  std::vector<double> stored, reach;
  for (std::size_t i = 0; i < logits.value.size(); ++i) {
    const bounds::Interval set = bounds::acceptable(logits, i, 1, bounds::Level::statistical);
    stored.push_back(logits.dtype == DType::f32 ? logits.value[i] : round_to(logits.dtype, logits.value[i]));
    const double most = std::max(set.hi - stored.back(), stored.back() - set.lo);
    reach.push_back(std::isnan(most) ? 0 : most);
  }
  return count_near_ties(stored, reach, written.bias, written.tokens, config);
}

StageDiff choice_diff(const Program& program, int step, DiffMode mode, const Written& written,
                      const RoutingCheck& check, std::int64_t possible) {
  StageDiff diff = named_diff(program, step, kIds, mode);
  diff.compared = diff.nonzero = static_cast<std::int64_t>(written.ids.size());
  diff.exact = true;  // discrete: there is no error to measure
  diff.near_ties = check.near_ties;
  diff.beyond_statistical = diff.beyond_hard = check.illegitimate;
  diff.mismatches = check.mismatches;
  // Healthy expected margins and many near-ties in the candidate's logits: its logits lost precision.
  diff.routing_wrong = check.illegitimate > 0 || too_many_near_ties(check.near_ties, possible, written.tokens);
  const std::vector<int>& values = program.steps[step].operands[kIds].values;
  const std::int64_t first = values.empty() ? 0 : program.values[values[0]].row_offset;
  for (Mismatch& mismatch : diff.mismatches) mismatch.token += first;
  for (const Mismatch& mismatch : diff.mismatches) diff.worst_tokens.push_back(mismatch.token);
  if (!diff.mismatches.empty()) diff.worst = diff.mismatches.front();
  return diff;
}

/// Appends the weights of one token; of a token with unusable ids, which failed already, nothing is claimed.
void append_weights(bounds::Acceptance& expected, std::span<const double> values, const Written& written, bool usable,
                    std::int64_t token, std::span<const double> kept_bias, const reference::RouterConfig& config) {
  const auto k = static_cast<std::size_t>(config.top_k), experts = static_cast<std::size_t>(config.experts),
             row = static_cast<std::size_t>(token);
  const auto ids = std::span(written.ids).subspan(row * k, k);
  std::vector<bounds::Interval> weights(k, {-INFINITY, INFINITY});
  if (falls_back(std::span(written.routing.choice).subspan(row * experts, experts), config)) {
    const double each = 1.0 / static_cast<double>(k);
    std::fill(weights.begin(), weights.end(), bounds::rounded(DType::f32, bounds::point(each)));
    values = {};
  } else if (usable) {
    const bounds::TokenScores scores =
        bounds::token_scores(written.routing, written.logits, {}, token, kept_bias, config);
    weights = bounds::weight_intervals(scores, ids, kept_bias, config);
  }
  for (std::size_t j = 0; j < k; ++j) {
    const double value = values.empty() ? weights[j].lo : values[j];
    const bool claimed = std::isfinite(value) && std::isfinite(weights[j].lo) && std::isfinite(weights[j].hi);
    expected.value.push_back(claimed ? value : 0);
    expected.inner.push_back(claimed ? std::min(weights[j].lo, value) : -INFINITY);
    expected.second.push_back(claimed ? std::max(weights[j].hi, value) : INFINITY);
  }
}

/// Weights of the candidate's choice.
bounds::Acceptance expected_weights(const Written& written, const RoutingCheck& check,
                                    const reference::RouterConfig& config) {
  const auto k = static_cast<std::size_t>(config.top_k), experts = static_cast<std::size_t>(config.experts);
  std::vector<std::int32_t> ids = written.ids;
  for (std::size_t t = 0; t < check.usable.size(); ++t) {
    for (std::size_t j = 0; j < k && !check.usable[t]; ++j) ids[t * k + j] = static_cast<std::int32_t>(j % experts);
  }
  reference::RouterConfig unrounded = config;
  unrounded.policy.weights_in = KeptIn::fp32;
  const std::vector<double> values =
      reference::routing_weights(written.routing, written.bias, ids, written.tokens, unrounded);
  bounds::Acceptance expected;
  expected.form = rounding_form(OpKind::router, "topk_weights");
  expected.kept = config.policy.weights_in == KeptIn::model ? config.model : DType::f32;
  const std::vector<double> added = bounds::kept_bias(written.bias, config);
  for (std::int64_t t = 0; t < written.tokens; ++t) {
    const auto row = static_cast<std::size_t>(t);
    append_weights(expected, std::span(values).subspan(row * k, k), written, check.usable[row], t, added, config);
  }
  return expected;
}

/// None when not all outputs were captured.
std::optional<Written> read_outputs(const Program& program, const Run& run, int step, const StageInputs& inputs,
                                    const reference::RouterConfig& config) {
  const Step& call = program.steps[step];
  const auto output = [&](int operand) {
    return to_doubles(call.operands[operand].dtype, captured(program, run, step, operand));
  };
  Written written;
  written.tokens = call.operands[kLogits].shape[0];
  written.logits = output(kLogits);
  if (inputs[kBias].present) written.bias = to_doubles(inputs[kBias].dtype, inputs[kBias].bytes());
  const std::vector<double> ids = output(kIds);
  written.ids.assign(ids.begin(), ids.end());
  const auto choices = static_cast<std::size_t>(written.tokens * config.top_k);
  const bool whole = written.logits.size() == static_cast<std::size_t>(written.tokens * config.experts) &&
                     ids.size() == choices && output(kWeights).size() == choices;
  if (!whole) return std::nullopt;
  written.routing = reference::route(written.logits, written.bias, written.tokens, config);
  return written;
}

}  // namespace

std::vector<StageDiff> compare_router(const Program& program, const Run& run, int step, DiffMode mode,
                                      const StageInputs& inputs, const StageResult& logits) {
  std::vector<StageDiff> diffs{compare_output(program, run, step, kLogits, mode, logits.outputs[kLogits])};
  const reference::RouterConfig config =
      router_config(program.steps[step], program.steps[step].operands[kLogits].shape[1], program.dtype);
  const std::optional<Written> written = read_outputs(program, run, step, inputs, config);
  if (!written) {
    for (const int operand : {kIds, kWeights}) {
      diffs.push_back(named_diff(program, step, operand, mode));
      diffs.back().not_comparable = "the router's outputs were not captured as a whole";
    }
    return diffs;
  }
  const RoutingCheck check =
      check_routing(written->routing, written->logits, written->bias, written->ids, written->tokens, config);
  const std::int64_t possible = possible_near_ties(logits.outputs[kLogits], *written, config);
  diffs.push_back(choice_diff(program, step, mode, *written, check, possible));
  diffs.push_back(compare_output(program, run, step, kWeights, mode, expected_weights(*written, check, config)));
  return diffs;
}

bool routing_is_legitimate(const std::vector<StageDiff>& router_diffs) {
  return std::none_of(router_diffs.begin(), router_diffs.end(),
                      [](const StageDiff& diff) { return diff.failed() || !diff.not_comparable.empty(); });
}

}  // namespace moediff
