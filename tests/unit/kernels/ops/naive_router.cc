#include "tests/unit/kernels/ops/naive_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace moediff::test {
namespace {

using Row = std::vector<double>;

double keep(double x, int kept_in, md_dtype model) { return kept_in == MD_IN_MODEL ? rounded(x, model) : x; }

/// Descending, the lower index first among equals; NaN as -infinity.
std::vector<std::size_t> order_of(Row values) {
  for (double& v : values) v = std::isnan(v) ? -INFINITY : v;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] > values[b]; });
  return order;
}

Row scores_of(const Row& logits, int scoring) {
  Row scores = logits;
  if (scoring == MD_SCORING_SIGMOID) {
    for (double& s : scores) s = 1 / (1 + std::exp(-s));
    return scores;
  }
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - largest);
  for (double& s : scores) s /= sum;
  return scores;
}

double group_score(Row choices, int kind) {
  for (double& v : choices) v = std::isnan(v) ? -INFINITY : v;
  std::sort(choices.rbegin(), choices.rend());
  return kind == MD_GROUP_MAX || choices.size() == 1 ? choices[0] : choices[0] + choices[1];
}

Row masked(const Row& choice, const md_params& params) {
  const auto groups = static_cast<std::size_t>(params.n_group), size = choice.size() / groups;
  Row scores, out(choice.size(), params.mask == MD_MASK_ZERO ? 0 : -INFINITY);
  const auto group = [&](std::size_t g) { return choice.begin() + static_cast<std::ptrdiff_t>(g * size); };
  for (std::size_t g = 0; g < groups; ++g)
    scores.push_back(group_score(Row(group(g), group(g + 1)), params.group_score));
  const std::vector<std::size_t> order = order_of(scores);
  for (int i = 0; i < params.topk_group; ++i) {
    const std::size_t g = order[static_cast<std::size_t>(i)];
    std::copy(group(g), group(g + 1), out.begin() + static_cast<std::ptrdiff_t>(g * size));
  }
  return out;
}

/// One token's choices and the weights its experts would have before normalisation.
struct Candidates {
  Row choice, weight;
};

Candidates candidates_of(const Row& logits, const Array* bias, const md_params& params, md_dtype model) {
  const Row fresh = scores_of(logits, params.scoring);
  Candidates out;
  for (std::size_t e = 0; e < logits.size(); ++e) {
    const double score = keep(fresh[e], params.scores_in, model);
    const double added = bias == nullptr ? 0 : keep(bias->values[e], params.bias_in, model);
    const double choice = keep(score + added, params.choice_in, model);
    out.choice.push_back(choice);
    out.weight.push_back(params.weight_from == MD_WEIGHT_FRESH_SCORE         ? fresh[e]
                         : params.weight_from == MD_WEIGHT_CHOICE_MINUS_BIAS ? choice - added
                                                                             : score);
  }
  return out;
}

void append_token(const Row& logits, const Array* bias, const md_params& params, md_dtype model, NaiveRouting& out) {
  const Candidates token = candidates_of(logits, bias, params, model);
  const auto finite =
      std::count_if(token.choice.begin(), token.choice.end(), [](double c) { return std::isfinite(c); });
  const bool uniform = params.not_finite == MD_NOT_FINITE_UNIFORM && finite < params.top_k;
  std::vector<std::size_t> order = order_of(masked(token.choice, params));
  if (uniform) std::iota(order.begin(), order.end(), 0);
  order.resize(static_cast<std::size_t>(params.top_k));
  double sum = 0;
  for (const std::size_t e : order) sum += token.weight[e];
  for (const std::size_t e : order) {
    const double normalised =
        params.norm_topk_prob != 0 ? token.weight[e] / (sum + params.norm_epsilon) : token.weight[e];
    const double weight = uniform ? 1.0 / params.top_k : normalised * params.factor;
    out.ids.values.push_back(static_cast<double>(e));
    out.weights.values.push_back(keep(weight, params.weights_in, model));
  }
}

}  // namespace

NaiveRouting naive_route(const Array& logits, const Array* bias, const md_params& params, md_dtype model) {
  const std::int64_t tokens = logits.shape[0], experts = logits.shape[1];
  NaiveRouting out{{{tokens, params.top_k}, {}}, {{tokens, params.top_k}, {}}};
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto row = logits.values.begin() + t * experts;
    append_token(Row(row, row + experts), bias, params, model, out);
  }
  return out;
}

Routed route(Device& device, const Array& logits, const RouterRun& run) {
  const std::int64_t tokens = logits.shape[0], experts = logits.shape[1];
  Array gate = constant({experts, experts}, 0);
  for (std::int64_t e = 0; e < experts; ++e) gate.values[static_cast<std::size_t>(e * experts + e)] = 1;
  const md_tensor out = device.blank({tokens, experts}, run.logits_dtype);
  const md_tensor ids = device.blank({tokens, run.params.top_k}, MD_I32),
                  weights = device.blank({tokens, run.params.top_k}, MD_F32);
  const md_tensor bias = run.bias == nullptr ? absent() : device.upload(*run.bias, MD_F32);
  device.run(MD_OP_ROUTER, {device.upload(logits, run.model), device.upload(gate, run.model), bias, out, ids, weights},
             run.params);
  return {device.read(out), device.read(ids), device.read(weights)};
}

void expect_routing(const Routed& actual, const Array& logits, const RouterRun& run) {
  md_params exact = run.params;
  exact.weights_in = MD_IN_FP32;
  const NaiveRouting expected = naive_route(logits, run.bias, exact, run.model);
  ASSERT_THAT(actual.ids.values, ::testing::ElementsAreArray(expected.ids.values));
  for (std::size_t i = 0; i < expected.weights.values.size(); ++i) {
    const double weight = expected.weights.values[i], found = actual.weights.values[i];
    // The subtraction of the bias cancels: its error is that of the choice, relative to at most 4 here.
    const double cancelled = run.params.weight_from == MD_WEIGHT_CHOICE_MINUS_BIAS ? 0x1p-20 : 0;
    const double error = 2e-6 * std::abs(weight) + cancelled;
    ASSERT_GE(found, keep(weight - error, run.params.weights_in, run.model)) << "weight " << i;
    ASSERT_LE(found, keep(weight + error, run.params.weights_in, run.model)) << "weight " << i;
  }
}

}  // namespace moediff::test
