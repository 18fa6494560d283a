// Each relation splits a group's passing cases into a baseline and the others, and compares every other with the first
// baseline: bit by bit for a deterministic, batch-invariant provider; within the sum of both error bounds where the two
// round at different places (fused: r and s are added before the one rounding; unfused: each is rounded first).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "harness/core/text.h"
#include "harness/relate/relation.h"

namespace moediff {
namespace {

bool is_fused(const Case& c) { return c.effective_stream == StreamMode::fused; }
bool is_plain(const Case& c) { return c.schedule.policy == SchedulePolicy::submission && c.chunk == 0; }

int none_or_aux(const Case& c) {
  if (is_fused(c) || !is_plain(c)) return -1;
  return c.effective_stream == StreamMode::aux ? 1 : 0;
}
int schedules(const Case& c) {
  if (is_fused(c) || c.chunk != 0) return -1;
  if (c.schedule.policy != SchedulePolicy::submission) return 1;
  return c.effective_stream == StreamMode::aux ? 0 : -1;
}
int chunked(const Case& c) { return is_fused(c) || c.schedule.policy != SchedulePolicy::submission ? -1 : c.chunk > 0; }
int fused_chunked(const Case& c) { return is_fused(c) ? c.chunk > 0 : -1; }
int in_place(const Case& c) { return is_fused(c) || !is_plain(c) ? -1 : c.in_place; }
int fused_in_place(const Case& c) { return is_fused(c) && is_plain(c) ? c.in_place : -1; }
int issue_order(const Case& c) {
  return is_fused(c) || !is_plain(c) || c.shape.n_shared == 0 ? -1 : c.order == IssueOrder::routed_first;
}
int fused_unfused(const Case& c) { return is_plain(c) ? is_fused(c) : -1; }

constexpr std::array<RelationRow, 8> kRelations{{
    {"none=aux", "bitwise", "an auxiliary stream changes nothing", none_or_aux},
    {"submission=any schedule", "bitwise", "the order in which the device takes up unordered work changes nothing",
     schedules},
    {"whole=chunked", "bitwise", "a row's bits do not depend on the batch it came in", chunked},
    {"fused whole=chunked", "bitwise", "the same with fused shared experts", fused_chunked},
    {"out of place=in place", "bitwise", "writing over the input changes nothing, where nobody reads it any more",
     in_place},
    {"fused out of place=in place", "bitwise", "the same with fused shared experts", fused_in_place},
    {"shared first=routed first", "bitwise", "the issue order changes nothing", issue_order},
    {"unfused~fused", "bound", "fusing the shared experts changes the rounding and nothing else", fused_unfused},
}};

Mismatch difference_at(const Outcome& base, const Outcome& other, std::size_t i, double bound) {
  Mismatch m;
  const auto at = static_cast<std::int64_t>(i);
  m.token = at / base.hidden;
  m.column = at % base.hidden;
  m.index = {m.token, m.column};
  m.expected = base.actual[i];
  m.actual = other.actual[i];
  m.bound = bound;
  return m;
}

std::string describe(const Mismatch& m, const Outcome& base, const Outcome& other) {
  return "token " + std::to_string(m.token) + ", column " + std::to_string(m.column) + ": " +
         short_number(m.actual, 9) + " in " + other.spec->id + ", " + short_number(m.expected, 9) + " in " +
         base.spec->id;
}

void compare_pair(const Outcome& base, const Outcome& other, bool bitwise, RelationRecord& record) {
  if (base.actual.size() != other.actual.size()) {
    record.status = Status::fail;
    record.explanation = "outputs of different size";
    return;
  }
  for (std::size_t i = 0; i < base.actual.size(); ++i) {
    const double bound = bitwise ? 0.0 : base.bound[i] + other.bound[i];
    const double error = std::abs(base.actual[i] - other.actual[i]);
    const bool equal =
        bitwise ? std::bit_cast<std::uint64_t>(base.actual[i]) == std::bit_cast<std::uint64_t>(other.actual[i])
                : error <= bound;
    if (!bitwise && bound > 0) record.budget_used = std::max(record.budget_used, error / bound);
    if (equal || record.first_difference) continue;
    record.status = Status::fail;
    record.first_difference = difference_at(base, other, i, bound);
    record.explanation = describe(*record.first_difference, base, other);
  }
  record.compared += static_cast<std::int64_t>(base.actual.size());
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
  if (!wanted[0] || !wanted[1]) return std::nullopt;  // the group does not vary this
  RelationRecord record;
  record.relation = row.name;
  record.rule = row.rule;
  record.group = group;
  record.scenario = outcomes.front().spec->scenario;
  if (sides[0].empty() || sides[1].empty()) {
    record.status = Status::skipped;
    record.skip_reason = "no passing case on one side";
    return record;
  }
  const Outcome& base = *sides[0].front();
  record.members.push_back(base.spec->id);
  for (const std::vector<const Outcome*>& side : sides) {
    for (const Outcome* other : side) {
      if (other == &base) continue;
      record.members.push_back(other->spec->id);
      // Members of one side differ in other axes than this relation's: only those that are bitwise comparable take
      // part.
      compare_pair(base, *other, row.rule == "bitwise" || is_fused(*base.spec) == is_fused(*other->spec), record);
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

}  // namespace

std::span<const RelationRow> relations() { return kRelations; }

std::vector<RelationRecord> relate(const std::string& group, std::span<const Outcome> outcomes) {
  std::vector<RelationRecord> records;
  if (outcomes.empty()) return records;
  for (const RelationRow& row : kRelations) {
    if (std::optional<RelationRecord> record = apply(row, group, outcomes)) records.push_back(std::move(*record));
  }
  if (std::optional<RelationRecord> record = reference_and_capture(group, outcomes))
    records.push_back(std::move(*record));
  return records;
}

}  // namespace moediff
