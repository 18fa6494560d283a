// Which sets of experts are allowed: against the definition, tried out over all choices of groups.
#include "harness/replay/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace moediff {
namespace {

constexpr int kExperts = 8;
constexpr double kOut = -std::numeric_limits<double>::infinity();

struct Scores {
  std::vector<double> choice, groups;
  int topk_group;
  MaskValue mask;
  ChoiceScores view() const { return {choice, groups, topk_group, mask}; }
};

bool in(unsigned set, std::size_t i) { return (set >> i & 1u) != 0; }

/// No member of `set` is worse than one left out.
bool best(const std::vector<double>& values, unsigned set, double tolerance) {
  double worst_in = -kOut, best_out = kOut;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& bound = in(set, i) ? worst_in : best_out;
    bound = in(set, i) ? std::min(bound, values[i]) : std::max(bound, values[i]);
  }
  return worst_in >= best_out - tolerance;
}

/// The definition: some choice of topk_group best groups makes `set` the best experts, none of them outside at -inf.
bool allowed_by_definition(const Scores& s, unsigned set, double tolerance) {
  const std::size_t size = kExperts / s.groups.size();
  for (unsigned kept = 0; kept < 1u << s.groups.size(); ++kept) {
    if (__builtin_popcount(kept) != s.topk_group || !best(s.groups, kept, tolerance)) continue;
    std::vector<double> counts = s.choice;
    bool possible = true;
    for (std::size_t e = 0; e < counts.size(); ++e) {
      if (!in(kept, e / size)) counts[e] = s.mask == MaskValue::zero ? 0 : kOut;
      possible = possible && !(in(set, e) && counts[e] == kOut);
    }
    if (possible && best(counts, set, tolerance)) return true;
  }
  return false;
}

std::vector<std::int32_t> members(unsigned set) {
  std::vector<std::int32_t> ids;
  for (int e = 0; e < kExperts; ++e) {
    if (in(set, static_cast<std::size_t>(e))) ids.push_back(e);
  }
  return ids;
}

/// Scores from few values, so that ties are common.
Scores draw(std::mt19937& random) {
  Scores s;
  const int groups = 1 << random() % 3;
  for (int e = 0; e < kExperts; ++e) s.choice.push_back(static_cast<double>(random() % 5) - 2);
  for (int g = 0; g < groups; ++g) s.groups.push_back(static_cast<double>(random() % 3));
  s.topk_group = 1 + static_cast<int>(random() % static_cast<unsigned>(groups));
  s.mask = random() % 2 ? MaskValue::zero : MaskValue::neg_inf;
  return s;
}

TEST(Choice, AllowsExactlyTheSetsOfTheDefinition) {
  std::mt19937 random(1);
  int allowed_sets = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    const Scores s = draw(random);
    for (unsigned set = 1; set < 1u << kExperts; ++set) {
      const bool expected = allowed_by_definition(s, set, 0);
      ASSERT_EQ(allowed(s.view(), members(set), 0), expected) << round << " " << set;
      ++(expected ? allowed_sets : refused);
    }
  }
  EXPECT_GT(allowed_sets, 5000);
  EXPECT_GT(refused, 5000);
}

TEST(Choice, IsUndecidedExactlyWhereAnotherSetIsAllowedToo) {
  std::mt19937 random(2);
  int ties = 0;
  for (int round = 0; round < 2000; ++round) {
    Scores s = draw(random);
    s.mask = MaskValue::neg_inf;
    const int k = s.topk_group * (kExperts / static_cast<int>(s.groups.size())) / 2;
    if (k == 0) continue;
    int sets = 0;
    for (unsigned set = 1; set < 1u << kExperts; ++set) {
      sets += __builtin_popcount(set) == k && allowed_by_definition(s, set, 0);
    }
    // A tie between groups may leave the experts the same: undecided is then on the safe side.
    if (sets > 1) {
      EXPECT_TRUE(undecided(s.view(), k, 0)) << round;
    }
    if (!undecided(s.view(), k, 0)) {
      EXPECT_EQ(sets, 1) << round;
    }
    ties += sets > 1;
  }
  EXPECT_GT(ties, 100);
}

TEST(Choice, ATieIsWhatDiffersByNoMoreThanTheTolerance) {
  const Scores s{{0.5, 0.4, 0.3999, 0.1, 0, 0, 0, 0}, {1}, 1, MaskValue::neg_inf};
  EXPECT_TRUE(allowed(s.view(), std::vector<std::int32_t>{0, 1}, 0));
  EXPECT_FALSE(allowed(s.view(), std::vector<std::int32_t>{0, 2}, 0.00005));
  EXPECT_TRUE(allowed(s.view(), std::vector<std::int32_t>{0, 2}, 0.0002));
  EXPECT_FALSE(allowed(s.view(), std::vector<std::int32_t>{0, 3}, 0.0002));
  EXPECT_FALSE(undecided(s.view(), 2, 0.00005));
  EXPECT_TRUE(undecided(s.view(), 2, 0.0002));
}

// Hugging Face's reading: with every choice negative, experts outside of the kept group count as 0 and win.
TEST(Choice, WithAMaskOfZeroNegativeChoicesLoseToExpertsOutside) {
  Scores s{{-0.1, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7, -0.8}, {-0.3, -0.7, -1.1, -1.5}, 1, MaskValue::zero};
  EXPECT_TRUE(allowed(s.view(), std::vector<std::int32_t>{4, 7}, 0));
  EXPECT_FALSE(allowed(s.view(), std::vector<std::int32_t>{0, 7}, 0));
  s.mask = MaskValue::neg_inf;
  EXPECT_FALSE(allowed(s.view(), std::vector<std::int32_t>{4, 7}, 0));
  EXPECT_TRUE(allowed(s.view(), std::vector<std::int32_t>{0, 1}, 0));
}

}  // namespace
}  // namespace moediff
