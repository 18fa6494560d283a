// Router: logits as a dot product; then, from the logits that the candidate stored, the legitimacy of its choice and
// the weights of the experts it chose, matched by expert.
#include "harness/compare/router_stage.h"

#include <algorithm>

#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/scores.h"
#include "harness/compare/elements.h"
#include "harness/compare/routing.h"
#include "harness/compare/stage_diff.h"

namespace moediff {
namespace {

constexpr int kBias = slot_index(OpKind::router, "gate_bias"), kLogits = slot_index(OpKind::router, "router_logits"),
              kIds = slot_index(OpKind::router, "topk_ids"), kWeights = slot_index(OpKind::router, "topk_weights");

/// What the candidate wrote.
struct Written {
  std::vector<double> logits, bias;
  std::vector<std::int32_t> ids;
  std::int64_t tokens = 0;
};

StageDiff choice_diff(const Program& program, int step, DiffMode mode, const Written& written,
                      const RoutingCheck& check, std::int64_t expected_near_ties) {
  StageDiff diff = named_diff(program, step, kIds, mode);
  diff.compared = diff.nonzero = static_cast<std::int64_t>(written.ids.size());
  diff.near_ties = check.near_ties;
  diff.beyond_statistical = diff.beyond_hard = check.illegitimate;
  diff.mismatches = check.mismatches;
  // Healthy expected margins and many near-ties in the candidate's logits: its logits lost precision.
  const bool degenerate =
      too_many_near_ties(check.near_ties, written.tokens) && !too_many_near_ties(expected_near_ties, written.tokens);
  diff.routing_wrong = check.illegitimate > 0 || degenerate;
  const std::vector<int>& values = program.steps[step].operands[kIds].values;
  const std::int64_t first = values.empty() ? 0 : program.values[values[0]].row_offset;
  for (Mismatch& mismatch : diff.mismatches) mismatch.token += first;
  for (const Mismatch& mismatch : diff.mismatches) diff.worst_tokens.push_back(mismatch.token);
  if (!diff.mismatches.empty()) diff.worst = diff.mismatches.front();
  return diff;
}

/// Weights of the candidate's choice; tokens with unusable ids expect what is there, as they failed already.
bounds::Acceptance expected_weights(const Written& written, const RoutingCheck& check, std::span<const double> actual,
                                    const reference::RouterConfig& config) {
  const auto k = static_cast<std::size_t>(config.top_k), experts = static_cast<std::size_t>(config.experts);
  std::vector<std::int32_t> ids = written.ids;
  for (std::size_t t = 0; t < check.usable.size(); ++t) {
    for (std::size_t j = 0; j < k && !check.usable[t]; ++j) ids[t * k + j] = static_cast<std::int32_t>(j % experts);
  }
  const reference::Routing routing = reference::route(written.logits, written.bias, written.tokens, config);
  bounds::Acceptance expected;
  expected.form = RoundingRow::Form::weights;
  expected.value = reference::routing_weights(routing.score, ids, written.tokens, config);
  const double relative = bounds::weight_relative_error(config.top_k, config.norm_topk_prob);
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    if (!check.usable[i / k]) expected.value[i] = actual[i];
    const double error = relative * std::abs(expected.value[i]) + bounds::kTiny32;
    expected.delta.push_back({error, error});
  }
  return expected;
}

}  // namespace

std::vector<StageDiff> compare_router(const Program& program, const Run& run, int step, DiffMode mode,
                                      const StageInputs& inputs, const StageResult& logits) {
  std::vector<StageDiff> diffs{compare_output(program, run, step, kLogits, mode, logits.outputs[kLogits])};
  const Step& call = program.steps[step];
  Written written;
  written.tokens = call.operands[kLogits].shape[0];
  written.logits = to_doubles(DType::f32, captured(program, run, step, kLogits));
  written.bias = to_doubles(inputs[kBias].dtype, inputs[kBias].bytes());
  const std::vector<double> ids = to_doubles(DType::i32, captured(program, run, step, kIds));
  const std::vector<double> weights = to_doubles(DType::f32, captured(program, run, step, kWeights));
  written.ids.assign(ids.begin(), ids.end());
  const reference::RouterConfig config = router_config(call, call.operands[kLogits].shape[1]);
  const auto choices = static_cast<std::size_t>(written.tokens * config.top_k);
  if (!diffs[0].not_comparable.empty() || ids.size() != choices || weights.size() != choices) {
    for (const int operand : {kIds, kWeights}) {
      diffs.push_back(named_diff(program, step, operand, mode));
      diffs.back().not_comparable = "the router's outputs were not captured as a whole";
    }
    return diffs;
  }
  const RoutingCheck check = check_routing(written.logits, written.bias, written.ids, written.tokens, config);
  const std::int64_t expected_ties =
      count_near_ties(logits.outputs[kLogits].value, written.bias, written.tokens, config);
  diffs.push_back(choice_diff(program, step, mode, written, check, expected_ties));
  diffs.push_back(
      compare_output(program, run, step, kWeights, mode, expected_weights(written, check, weights, config)));
  return diffs;
}

bool routing_is_legitimate(const std::vector<StageDiff>& router_diffs) {
  return std::none_of(router_diffs.begin(), router_diffs.end(),
                      [](const StageDiff& diff) { return diff.failed() || !diff.not_comparable.empty(); });
}

}  // namespace moediff
