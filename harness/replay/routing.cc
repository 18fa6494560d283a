// An expected choice is right when it is the reference's, or when the scores allow it within a tie: other
// implementations take ties as they come. What follows from the choice is then computed with the expected experts.
#include "harness/replay/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/replay/choice.h"

namespace moediff {
namespace {

/// Where scores grow with their logits and nothing is added to them, logits decide: they still differ where scores are
/// saturated or tiny.
bool logits_decide(const reference::RouterConfig& config) {
  return !config.policy.bias && (config.n_group == 1 || config.policy.group_score == GroupScore::max);
}

std::vector<double> group_maxima(std::span<const double> logits, std::int64_t n_group) {
  const std::size_t size = logits.size() / static_cast<std::size_t>(n_group);
  std::vector<double> maxima;
  for (std::size_t begin = 0; begin < logits.size(); begin += size) {
    maxima.push_back(*std::max_element(logits.begin() + static_cast<std::ptrdiff_t>(begin),
                                       logits.begin() + static_cast<std::ptrdiff_t>(begin + size)));
  }
  return maxima;
}

/// Everything about the choice of one row.
struct Row {
  std::vector<double> choice, groups;
  ChoiceScores scores;
  double scale = 1;  ///< of the tolerance
  bool finite = true;

  Row(const RouterInputs& inputs, const reference::Routing& routing, const reference::RouterConfig& config,
      std::int64_t t) {
    const bool by_logits = logits_decide(config);
    const auto begin = (by_logits ? inputs.logits : routing.choice).begin() + t * config.experts;
    choice.assign(begin, begin + config.experts);
    if (by_logits) {
      groups = group_maxima(choice, config.n_group);
    } else {
      const auto first = routing.group_score.begin() + t * config.n_group;
      groups.assign(first, first + config.n_group);
    }
    scores = {choice, groups, config.topk_group, by_logits ? MaskValue::neg_inf : config.policy.mask};
    for (const double value : choice) {
      finite = finite && std::isfinite(value);
      scale = std::max(scale, std::abs(value));
    }
  }
};

std::vector<std::int32_t> sorted(std::span<const std::int32_t> ids) {
  std::vector<std::int32_t> out(ids.begin(), ids.end());
  std::sort(out.begin(), out.end());
  return out;
}

bool distinct(const std::vector<std::int32_t>& ids) { return std::adjacent_find(ids.begin(), ids.end()) == ids.end(); }

/// f32: below the smallest normal number a sum loses its precision, and what is divided by it means nothing.
bool holds_sum(const reference::Routing& routing, const reference::RouterConfig& config,
               std::span<const std::int32_t> ids, std::int64_t t, const std::string& precision) {
  if (precision == "f64" || !config.norm_topk_prob) return true;
  double sum = config.policy.norm_epsilon;
  for (const std::int32_t id : ids) sum += routing.score[static_cast<std::size_t>(t * config.experts + id)];
  return sum >= 0x1p-126;
}

/// How one row is chosen, and what is to be said about it.
struct Choice {
  std::vector<std::int32_t> ids;
  bool known = false;  ///< as expected
  bool tie = false;    ///< allowed, but not the reference's
};

Check ids_check(const ExpectedTensor& expected, std::int64_t rows, std::int64_t wrong, std::int64_t first_wrong,
                std::int64_t ties) {
  Check check;
  check.name = expected.name;
  check.expected = expected.tensor;
  check.compared = rows;
  check.measured = static_cast<double>(wrong);
  check.rule = kMeasureTexts[static_cast<std::size_t>(Measure::illegitimate)];
  check.pass = rows > 0 && wrong == 0;
  if (wrong > 0) check.note = "first in row " + std::to_string(first_wrong);
  if (ties > 0) {
    check.note += (wrong > 0 ? "; " : "") + std::to_string(ties) +
                  (ties == 1 ? " row is a tie, taken" : " rows are ties, taken") +
                  " otherwise than by the lowest index";
  }
  return check;
}

Choice choose(const Row& row, std::span<const std::int32_t> reference_ids, std::span<const std::int32_t> expected,
              double tolerance) {
  const std::vector<std::int32_t> ours = sorted(reference_ids);
  if (expected.empty()) return {ours};
  const std::vector<std::int32_t> set = sorted(expected);
  const bool equal = set == ours;
  const bool tie = !equal && row.finite && distinct(set) && allowed(row.scores, set, tolerance);
  if (!equal && !tie) return {ours};
  return {{expected.begin(), expected.end()}, true, tie};
}

std::span<const std::int32_t> row_of(std::span<const std::int32_t> ids, std::int64_t t, std::int64_t k) {
  return ids.empty() ? ids : ids.subspan(static_cast<std::size_t>(t * k), static_cast<std::size_t>(k));
}

}  // namespace

double tie_tolerance(const std::string& precision) {
  if (precision == "f64") return 1e-9;
  return precision == "f32" ? 1e-6 : 0x1p-7;
}

RouterResult route_as(const RouterInputs& inputs, const reference::RouterConfig& config, const ExpectedTensor& expected,
                      std::span<const std::int32_t> ids) {
  const reference::Routing routing = reference::route(inputs.logits, inputs.bias, inputs.tokens, config);
  const double tolerance = tie_tolerance(expected.precision);
  RouterResult out;
  std::int64_t wrong = 0, ties = 0, first_wrong = -1;
  for (std::int64_t t = 0; t < inputs.tokens; ++t) {
    const Row row(inputs, routing, config, t);
    // A row that the file does not call a tie must be chosen as the scores say; bf16 results have other scores.
    const bool strict =
        expected.precision != "bf16" && !inputs.stated_ties.empty() && !inputs.stated_ties[static_cast<std::size_t>(t)];
    const double slack = tolerance * row.scale;
    const Choice choice =
        choose(row, row_of(routing.ids, t, config.top_k), row_of(ids, t, config.top_k), strict ? 0 : slack);
    out.ids.insert(out.ids.end(), choice.ids.begin(), choice.ids.end());
    out.sole.push_back(!row.finite || !undecided(row.scores, config.top_k, slack));
    out.decided.push_back(choice.known || out.sole.back());
    out.holds.push_back(holds_sum(routing, config, choice.ids, t, expected.precision));
    ties += choice.tie;
    if (!choice.known && wrong++ == 0) first_wrong = t;
  }
  out.weights = reference::routing_weights(routing, inputs.bias, out.ids, inputs.tokens, config);
  if (!ids.empty()) out.check = ids_check(expected, inputs.tokens, wrong, first_wrong, ties);
  return out;
}

}  // namespace moediff
