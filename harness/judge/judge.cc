// The order of the rules is the order of trust: what the run itself shows, then structure, then numbers.
#include "harness/judge/judge.h"

#include <array>

#include "harness/judge/rules.h"

namespace moediff {
namespace {

using Rule = std::optional<Verdict> (*)(const CaseView&);
constexpr std::array<Rule, 4> kRules{judge_run, judge_hazards, judge_repeats, judge_numbers};

}  // namespace

Verdict judge(const Program& program, const Run& run, const OrderResult& order, const Diff* diff) {
  const CaseView view{program, run, order, diff};
  for (const Rule rule : kRules) {
    if (std::optional<Verdict> verdict = rule(view)) return *std::move(verdict);
  }
  return {};  // pass
}

}  // namespace moediff
