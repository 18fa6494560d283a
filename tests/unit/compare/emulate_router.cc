#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/unit/compare/emulate.h"

namespace moediff::test {
namespace {

float kept(float value, KeptIn where, DType model) { return where == KeptIn::model ? stored_as(model, value) : value; }

std::vector<float> scores_of(const std::vector<float>& logits, Scoring scoring) {
  std::vector<float> scores;
  if (scoring == Scoring::sigmoid) {
    for (const float z : logits) scores.push_back(1.0f / (1.0f + std::exp(-z)));
    return scores;
  }
  const float most = *std::max_element(logits.begin(), logits.end());
  float sum = 0;
  for (const float z : logits) {
    scores.push_back(std::exp(z - most));
    sum += scores.back();
  }
  for (float& score : scores) score = score / sum;
  return scores;
}

float group_score(const OpParams& p, std::vector<float> choices) {
  std::sort(choices.rbegin(), choices.rend());
  return p.router.group_score == GroupScore::max || choices.size() == 1 ? choices[0] : choices[0] + choices[1];
}

std::vector<std::int32_t> best(const std::vector<float>& scores, int count) {
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(count));
  return order;
}

std::vector<std::int32_t> choose(const OpParams& p, std::vector<float> choices) {
  for (float& c : choices) c = std::isnan(c) ? -INFINITY : c;
  const std::size_t size = choices.size() / static_cast<std::size_t>(p.n_group);
  std::vector<float> groups;
  for (std::size_t g = 0; g < static_cast<std::size_t>(p.n_group); ++g)
    groups.push_back(group_score(p, {choices.begin() + static_cast<std::ptrdiff_t>(g * size),
                                     choices.begin() + static_cast<std::ptrdiff_t>((g + 1) * size)}));
  const std::vector<std::int32_t> in = best(groups, p.topk_group);
  for (std::size_t e = 0; e < choices.size(); ++e) {
    const auto group = static_cast<std::int32_t>(e / size);
    if (std::find(in.begin(), in.end(), group) == in.end())
      choices[e] = p.router.mask == MaskValue::zero ? 0 : -INFINITY;
  }
  return best(choices, p.top_k);
}

}  // namespace

void emulate_router(const OpParams& p, DType model, const Views& v) {
  const View &logits = v[3], &ids = v[4], &weights = v[5];
  const RouterPolicy& policy = p.router;
  const std::int64_t experts = logits.extent(1);
  for (std::int64_t t = 0; t < logits.extent(0); ++t) {
    std::vector<float> z, fresh, score, choice, bias;
    for (std::int64_t e = 0; e < experts; ++e) z.push_back(logits.get(t * experts + e));
    fresh = scores_of(z, policy.scoring);
    for (std::size_t e = 0; e < z.size(); ++e) {
      bias.push_back(v[2].present() ? kept(v[2].get(static_cast<std::int64_t>(e)), policy.bias_in, model) : 0);
      score.push_back(kept(fresh[e], policy.scores_in, model));
      choice.push_back(kept(score[e] + bias[e], policy.choice_in, model));
    }
    std::vector<std::int32_t> chosen = choose(p, choice);
    const auto finite = std::count_if(choice.begin(), choice.end(), [](float c) { return std::isfinite(c); });
    const bool uniform = policy.not_finite == NotFinite::uniform && finite < p.top_k;
    if (uniform) std::iota(chosen.begin(), chosen.end(), 0);
    std::vector<float> raw;
    for (const std::int32_t id : chosen) {
      const auto e = static_cast<std::size_t>(id);
      raw.push_back(policy.weight_from == WeightSource::score         ? score[e]
                    : policy.weight_from == WeightSource::fresh_score ? fresh[e]
                                                                      : choice[e] - bias[e]);
    }
    const float sum = std::accumulate(raw.begin(), raw.end(), 0.0f);
    for (std::size_t j = 0; j < raw.size(); ++j) {
      float weight = p.norm_topk_prob ? raw[j] / (sum + static_cast<float>(policy.norm_epsilon)) : raw[j];
      weight = uniform ? 1.0f / static_cast<float>(p.top_k) : weight * static_cast<float>(p.factor);
      const std::int64_t at = t * p.top_k + static_cast<std::int64_t>(j);
      ids.set_int(at, chosen[j]);
      weights.set(at, kept(weight, policy.weights_in, model));
    }
  }
}

}  // namespace moediff::test
