// Each relation splits a group's passing cases into a baseline and the others, and compares every other with the first
// baseline, token by token: bit by bit for a deterministic, batch-invariant provider; within the sum of both error
// bounds where the two round at different places (fused: r and s are added before the one rounding; unfused: each is
// rounded first; shifted logits: other partial sums). In algebra mode nothing rounds, so every relation is bitwise.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "harness/compare/bounds/constants.h"
#include "harness/core/text.h"
#include "harness/program/input_parts.h"
#include "harness/relate/relation.h"

namespace moediff {
namespace {

bool is_fused(const Case& c) { return c.effective_stream == StreamMode::fused; }
bool is_plain(const Case& c) { return c.schedule.policy == SchedulePolicy::submission && c.chunk == 0; }
bool is_varied(const Case& c) { return c.variation != Variation::none; }

int none_or_aux(const Case& c) {
  if (is_fused(c) || !is_plain(c) || is_varied(c)) return -1;
  return c.effective_stream == StreamMode::aux ? 1 : 0;
}
int schedules(const Case& c) {
  if (is_fused(c) || c.chunk != 0 || is_varied(c)) return -1;
  if (c.schedule.policy != SchedulePolicy::submission) return 1;
  return c.effective_stream == StreamMode::aux ? 0 : -1;
}
/// One activation scale for the whole batch: a chunk is another batch.
bool scales_with_the_batch(const Case& c) { return row(c.quant.scheme).activation == ActivationScales::tensor; }
int chunked(const Case& c) {
  const bool applies = !is_fused(c) && c.schedule.policy == SchedulePolicy::submission && !is_varied(c);
  return applies && !scales_with_the_batch(c) ? c.chunk > 0 : -1;
}
int fused_chunked(const Case& c) {
  return is_fused(c) && !is_varied(c) && !scales_with_the_batch(c) ? c.chunk > 0 : -1;
}
int in_place(const Case& c) { return is_fused(c) || !is_plain(c) || is_varied(c) ? -1 : c.in_place; }
int fused_in_place(const Case& c) { return is_fused(c) && is_plain(c) && !is_varied(c) ? c.in_place : -1; }
int issue_order(const Case& c) {
  const bool applies = !is_fused(c) && is_plain(c) && c.shape.n_shared > 0 && !is_varied(c);
  return applies ? c.order == IssueOrder::routed_first : -1;
}
/// Where a scale spans elements of several experts (a whole tensor, or a row of several shared experts), fused experts
/// have other scales, and so other codes: in exact arithmetic only algebra mode makes nothing of it.
bool scales_span_experts(const Case& c) {
  const ActivationScales scales = row(c.quant.scheme).activation;
  const bool spans = scales == ActivationScales::tensor || (scales == ActivationScales::token && c.shape.n_shared > 1);
  return spans && c.arithmetic == Arithmetic::floating;
}
int fused_unfused(const Case& c) { return is_plain(c) && !is_varied(c) && !scales_span_experts(c) ? is_fused(c) : -1; }

/// The plain batch on one side, one of its variations on the other; however the experts are placed and ordered.
template <Variation kFirst, Variation kLast = kFirst>
int variation(const Case& c) {
  if (!is_varied(c)) return 0;
  return c.variation >= kFirst && c.variation <= kLast ? 1 : -1;
}

constexpr std::array<RelationRow, 13> kRelations{{
    {"none=aux", "bitwise", "an auxiliary stream changes nothing", none_or_aux},
    {"submission=any schedule", "bitwise", "the order in which the device takes up unordered work changes nothing",
     schedules},
    {"whole=chunked", "bitwise", "a row's bits do not depend on the batch it came in", chunked},
    {"fused whole=chunked", "bitwise", "the same with fused shared experts", fused_chunked},
    {"out of place=in place", "bitwise", "writing over the input changes nothing, where nobody reads it any more",
     in_place},
    {"fused out of place=in place", "bitwise", "the same with fused shared experts", fused_in_place},
    {"shared first=routed first", "bitwise", "the issue order changes nothing", issue_order},
    {"unfused~fused", "bound", "fusing the shared experts changes the rounding and nothing else", fused_unfused,
     /*across_fusion=*/true},
    {"tokens=permuted", "bitwise", "a token's result does not depend on its place in the batch",
     variation<Variation::permuted>},
    {"batch=half", "bitwise", "a token's result does not depend on the tokens behind it", variation<Variation::split>},
    {"batch=padded", "bitwise", "rows of 0, 1e4 or NaN behind the tokens change nothing",
     variation<Variation::padded_zero, Variation::padded_nan>},
    {"logits~shifted", "bound", "softmax scores do not change when all logits of a token move alike",
     variation<Variation::shifted>},
    {"idle=poisoned", "bitwise", "the weights of an expert that no token chooses are not read",
     variation<Variation::poisoned_idle>},
}};

/// Row of the plain batch of each row of a case; fewer than its rows when the last ones are padding.
std::vector<std::int64_t> plain_rows(const Case& spec) {
  if (spec.variation == Variation::permuted) return permutation(spec);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(batch_rows(spec), spec.tokens)));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return rows;
}

Mismatch difference_at(const Outcome& base, std::size_t at, double expected, double actual, double bound) {
  Mismatch m;
  m.token = static_cast<std::int64_t>(at) / base.hidden;
  m.column = static_cast<std::int64_t>(at) % base.hidden;
  m.index = {m.token, m.column};
  m.expected = expected;
  m.actual = actual;
  m.bound = bound;
  return m;
}

std::string describe(const Mismatch& m, const Outcome& base, const Outcome& other) {
  return "token " + std::to_string(m.token) + ", column " + std::to_string(m.column) + ": " +
         short_number(m.actual, 9) + " in " + other.spec->id + ", " + short_number(m.expected, 9) + " in " +
         base.spec->id;
}

/// Experts of a token as a sorted set.
std::vector<std::int32_t> chosen(const Outcome& outcome, std::int64_t token) {
  const auto k = static_cast<std::ptrdiff_t>(outcome.spec->shape.top_k);
  const auto begin = outcome.choices.begin() + token * k;
  std::vector<std::int32_t> ids(begin, begin + k);
  std::sort(ids.begin(), ids.end());
  return ids;
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Compares row `theirs` of `other` with row `mine` of `base`.
void compare_row(const Outcome& base, std::int64_t mine, const Outcome& other, std::int64_t theirs, bool bitwise,
                 RelationRecord& record) {
  for (std::int64_t c = 0; c < base.hidden; ++c) {
    const auto i = static_cast<std::size_t>(mine * base.hidden + c),
               j = static_cast<std::size_t>(theirs * base.hidden + c);
    const double bound = bitwise ? 0.0 : base.bound[i] + other.bound[j];
    if (std::isinf(bound)) continue;  // nothing is claimed of this element, so it is not compared
    const double error = std::abs(base.actual[i] - other.actual[j]);
    const bool equal = same_bits(base.actual[i], other.actual[j]) || (!bitwise && error <= bound);
    if (!bitwise && bound > 0) record.budget_used = std::max(record.budget_used, error / bound);
    ++record.compared;
    if (equal || record.first_difference) continue;
    record.status = Status::fail;
    record.first_difference = difference_at(base, i, base.actual[i], other.actual[j], bound);
    record.explanation = describe(*record.first_difference, base, other);
  }
}

/// Rounding may decide a near-tie either way; where it does, the rows are different sums. More than a few of them is no
/// accident.
void compare_pair(const Outcome& base, const Outcome& other, bool bitwise, RelationRecord& record) {
  const std::vector<std::int64_t> rows = plain_rows(*other.spec);
  const bool fits = base.actual.size() == static_cast<std::size_t>(base.spec->tokens * base.hidden) &&
                    other.actual.size() == static_cast<std::size_t>(batch_rows(*other.spec) * other.hidden);
  if (!fits) {
    record.status = Status::fail;
    record.explanation = "outputs of different size";
    return;
  }
  std::int64_t left_out = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto theirs = static_cast<std::int64_t>(r);
    const bool known = !base.choices.empty() && !other.choices.empty();
    if (!bitwise && known && chosen(base, rows[r]) != chosen(other, theirs)) {
      ++left_out;
      continue;
    }
    compare_row(base, rows[r], other, theirs, bitwise, record);
  }
  record.left_out += left_out;
  if (left_out <= bounds::kNearTieRows || record.status == Status::fail) return;
  record.status = Status::fail;
  record.explanation =
      std::to_string(left_out) + " tokens chose other experts in " + other.spec->id + " than in " + base.spec->id;
}

/// Members of one side differ in other axes than this relation's: where such an axis changes the rounding, they are not
/// comparable by this relation.
bool same_rounding_elsewhere(const RelationRow& row, const Case& base, const Case& other) {
  if (scales_with_the_batch(base) && base.chunk != other.chunk) return false;
  return row.across_fusion || is_fused(base) == is_fused(other);
}

bool is_bitwise(const RelationRow& row, const Case& base, const Case& other) {
  if (row.rule == "bitwise" || base.arithmetic == Arithmetic::field) return true;
  return is_fused(base) == is_fused(other) && base.variation == other.variation;
}

std::optional<RelationRecord> apply(const RelationRow& row, const std::string& group,
                                    std::span<const Outcome> outcomes) {
  std::vector<const Outcome*> sides[2];
  bool wanted[2] = {false, false};
  for (const Outcome& outcome : outcomes) {
    const int side = row.side(*outcome.spec);
    if (side < 0) continue;
    wanted[side] = true;
    if (outcome.status == Status::pass) sides[side].push_back(&outcome);
  }
  const bool lonely = !wanted[0] && wanted[1] && is_varied(*outcomes.front().spec);
  if ((!wanted[0] || !wanted[1]) && !lonely) return std::nullopt;  // the group does not vary this
  RelationRecord record;
  record.relation = row.name;
  record.rule = row.rule;
  record.group = group;
  record.scenario = outcomes.front().spec->scenario;
  if (sides[0].empty() || sides[1].empty()) {
    record.status = Status::skipped;
    record.skip_reason = lonely ? "no case with variation: none to compare with" : "no passing case on one side";
    return record;
  }
  const Outcome& base = *sides[0].front();
  record.members.push_back(base.spec->id);
  for (const std::vector<const Outcome*>& side : sides) {
    for (const Outcome* other : side) {
      if (other == &base) continue;
      if (!same_rounding_elsewhere(row, *base.spec, *other->spec)) continue;
      record.members.push_back(other->spec->id);
      compare_pair(base, *other, is_bitwise(row, *base.spec, *other->spec), record);
    }
  }
  if (record.compared == 0 && record.status == Status::pass) record.status = Status::inconclusive;
  return record;
}

// The reference against somebody else's numbers: only where the capture holds the output and nothing was rounded.
std::optional<RelationRecord> reference_and_capture(const std::string& group, std::span<const Outcome> outcomes) {
  constexpr double kTolerance = 1e-10;  // of max |output|: both are double evaluations of the same formulas
  for (const Outcome& outcome : outcomes) {
    if (outcome.captured.empty() || outcome.expected.empty()) continue;
    RelationRecord record;
    record.relation = "reference=capture";
    record.rule = "1e-10";
    record.group = group;
    record.scenario = outcome.spec->scenario;
    record.members = {outcome.spec->id};
    double largest = 0, worst = 0;
    for (const double value : outcome.captured) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < outcome.captured.size(); ++i)
      worst = std::max(worst, std::abs(outcome.captured[i] - outcome.expected[i]));
    record.compared = static_cast<std::int64_t>(outcome.captured.size());
    record.budget_used = largest > 0 ? worst / largest / kTolerance : 0;
    if (!(largest > 0)) {
      record.status = Status::inconclusive;
    } else if (!(worst <= kTolerance * largest)) {
      record.status = Status::fail;
    }
    record.explanation =
        "the reference is within " + short_number(worst / largest) + " of max|output| of the captured layer output";
    return record;
  }
  return std::nullopt;
}

// Every case was run twice: as it is, and serialised under observation.
std::optional<RelationRecord> run_and_run_again(const std::string& group, std::span<const Outcome> outcomes) {
  RelationRecord record;
  record.relation = "run=run again";
  record.rule = "bitwise";
  record.group = group;
  for (const Outcome& outcome : outcomes) {
    if (outcome.again.empty() || outcome.status != Status::pass) continue;
    record.scenario = outcome.spec->scenario;
    record.members.push_back(outcome.spec->id);
    for (std::size_t i = 0; i < std::min(outcome.again.size(), outcome.actual.size()); ++i) {
      ++record.compared;
      if (same_bits(outcome.again[i], outcome.actual[i]) || record.first_difference) continue;
      record.status = Status::fail;
      record.first_difference = difference_at(outcome, i, outcome.actual[i], outcome.again[i], 0);
      record.explanation = describe(*record.first_difference, outcome, outcome);
    }
  }
  if (record.members.empty()) return std::nullopt;
  return record;
}

}  // namespace

std::span<const RelationRow> relations() { return kRelations; }

std::vector<RelationRecord> relate(const std::string& group, std::span<const Outcome> outcomes) {
  std::vector<RelationRecord> records;
  if (outcomes.empty()) return records;
  for (const RelationRow& row : kRelations) {
    if (std::optional<RelationRecord> record = apply(row, group, outcomes)) records.push_back(std::move(*record));
  }
  for (const auto further : {run_and_run_again, reference_and_capture}) {
    if (std::optional<RelationRecord> record = further(group, outcomes)) records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace moediff
