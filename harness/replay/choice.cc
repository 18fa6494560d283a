// The question has a threshold form: a set is allowed if for some threshold every expert taken counts at least that
// much and every one left out at most that much. For a given threshold each group by itself can tell whether it may be
// in, and whether it may be out; what remains is to count. Thresholds to try are the scores themselves.
#include "harness/replay/choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace moediff {
namespace {

constexpr double kOut = -std::numeric_limits<double>::infinity();

/// One token's question, group by group.
class Question {
 public:
  Question(const ChoiceScores& scores, std::span<const std::int32_t> ids, double tolerance)
      : scores_(scores), tolerance_(tolerance), taken_(scores.choice.size()) {
    for (const std::int32_t id : ids) taken_[static_cast<std::size_t>(id)] = true;
    std::vector<double> sorted(scores.group_score.begin(), scores.group_score.end());
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const auto kept = static_cast<std::size_t>(scores.topk_group);
    last_kept_ = sorted[kept - 1];
    first_left_ = kept < sorted.size() ? sorted[kept] : kOut;
  }

  /// The sets of experts that count at least `threshold` and at most.
  bool allowed_at(double threshold) const {
    std::int64_t must_be_in = 0, may_be_in = 0;
    for (std::size_t group = 0; group < scores_.group_score.size(); ++group) {
      const double score = scores_.group_score[group];
      const bool in = score >= last_kept_ - tolerance_ && agrees(group, threshold, true);
      const bool out = score <= first_left_ + tolerance_ && agrees(group, threshold, false);
      if (!in && !out) return false;
      must_be_in += in && !out;
      may_be_in += in;
    }
    return must_be_in <= scores_.topk_group && scores_.topk_group <= may_be_in;
  }

 private:
  bool agrees(std::size_t group, double threshold, bool in) const {
    const std::size_t size = scores_.choice.size() / scores_.group_score.size();
    const double masked = scores_.mask == MaskValue::zero ? 0.0 : kOut;
    for (std::size_t e = group * size; e < (group + 1) * size; ++e) {
      const double counts = in ? scores_.choice[e] : masked;
      if (taken_[e] ? !(counts >= threshold - tolerance_) || counts == kOut : !(counts <= threshold)) return false;
    }
    return true;
  }

  const ChoiceScores& scores_;
  double tolerance_, last_kept_ = 0, first_left_ = 0;
  std::vector<bool> taken_;
};

}  // namespace

bool allowed(const ChoiceScores& scores, std::span<const std::int32_t> ids, double tolerance) {
  const Question question(scores, ids, tolerance);
  std::vector<double> thresholds(scores.choice.begin(), scores.choice.end());
  thresholds.push_back(0.0);   // the mask
  thresholds.push_back(kOut);  // nobody is left out, or only experts outside of the groups
  return std::any_of(thresholds.begin(), thresholds.end(),
                     [&](double threshold) { return !std::isnan(threshold) && question.allowed_at(threshold); });
}

bool undecided(const ChoiceScores& scores, std::int64_t top_k, double tolerance) {
  const auto gap = [](std::vector<double> values, std::int64_t kept) {
    std::sort(values.begin(), values.end(), std::greater<>());
    const auto k = static_cast<std::size_t>(kept);
    if (k >= values.size() || values[k] == kOut) return -kOut;
    return values[k - 1] - values[k];
  };
  const std::vector<double> groups(scores.group_score.begin(), scores.group_score.end());
  if (!(gap(groups, scores.topk_group) > tolerance)) return true;
  std::vector<double> sorted = groups;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double last_kept = sorted[static_cast<std::size_t>(scores.topk_group - 1)];
  std::vector<double> counts(scores.choice.begin(), scores.choice.end());
  const std::size_t size = counts.size() / groups.size();
  for (std::size_t e = 0; e < counts.size(); ++e) {
    if (groups[e / size] < last_kept) counts[e] = scores.mask == MaskValue::zero ? 0.0 : kOut;
  }
  return !(gap(counts, top_k) > tolerance);
}

}  // namespace moediff
