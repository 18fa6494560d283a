#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "harness/program/input_parts.h"
#include "harness/relate/relation.h"

namespace moediff {
namespace {

// Outcomes that own their cases.
class Group {
 public:
  Outcome& add(StreamMode stream, std::vector<double> actual, std::int64_t chunk = 0,
               SchedulePolicy policy = SchedulePolicy::submission) {
    Case& spec = cases_.emplace_back();
    spec.id = "case " + std::to_string(cases_.size());
    spec.shape.n_shared = 1;
    spec.stream = spec.effective_stream = stream;
    spec.chunk = chunk;
    spec.schedule.policy = policy;
    spec.tokens = static_cast<std::int64_t>(actual.size()) / 2;
    spec.shape.top_k = 1;
    Outcome& outcome = outcomes.emplace_back();
    outcome.spec = &spec;
    outcome.hidden = 2;
    outcome.bound.assign(actual.size(), 0.25);
    outcome.expected = actual;
    outcome.actual = std::move(actual);
    return outcome;
  }
  std::vector<Outcome> outcomes;

 private:
  std::deque<Case> cases_;
};

const RelationRecord* find(const std::vector<RelationRecord>& records, const std::string& name) {
  for (const RelationRecord& record : records) {
    if (record.relation == name) return &record;
  }
  return nullptr;
}

TEST(Relate, EqualBitsHold) {
  Group group;
  group.add(StreamMode::none, {1, 2, 3, 4});
  group.add(StreamMode::aux, {1, 2, 3, 4});
  const auto records = relate("g", group.outcomes);
  const RelationRecord* record = find(records, "none=aux");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->status, Status::pass);
  EXPECT_EQ(record->compared, 4);
  EXPECT_EQ(record->members, (std::vector<std::string>{"case 1", "case 2"}));
}

TEST(Relate, OneBitOfDifferenceFailsWithItsPlace) {
  Group group;
  group.add(StreamMode::none, {1, 2, 3, 4});
  group.add(StreamMode::aux, {1, 2, 3, 4.000001});
  const auto records = relate("g", group.outcomes);
  const RelationRecord* record = find(records, "none=aux");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->status, Status::fail);
  ASSERT_TRUE(record->first_difference);
  EXPECT_EQ(record->first_difference->token, 1);
  EXPECT_EQ(record->first_difference->column, 1);
}

TEST(Relate, MinusZeroIsNotZeroBitwise) {
  Group group;
  group.add(StreamMode::none, {0.0, 1});
  group.add(StreamMode::aux, {-0.0, 1});
  EXPECT_EQ(find(relate("g", group.outcomes), "none=aux")->status, Status::fail);
}

TEST(Relate, FusedMayDifferByTheSumOfBothBoundsAndNoMore) {
  Group near, far;
  near.add(StreamMode::none, {1, 2});
  near.add(StreamMode::fused, {1.4, 2});
  far.add(StreamMode::none, {1, 2});
  far.add(StreamMode::fused, {1.6, 2});
  EXPECT_EQ(find(relate("g", near.outcomes), "unfused~fused")->status, Status::pass);
  EXPECT_NEAR(find(relate("g", near.outcomes), "unfused~fused")->budget_used, 0.8, 1e-12);
  EXPECT_EQ(find(relate("g", far.outcomes), "unfused~fused")->status, Status::fail);
}

TEST(Relate, NotANumberNeverHolds) {
  Group group;
  group.add(StreamMode::none, {1, 2});
  group.add(StreamMode::fused, {std::nan(""), 2});
  EXPECT_EQ(find(relate("g", group.outcomes), "unfused~fused")->status, Status::fail);
}

TEST(Relate, FailedCasesTakeNoPartAndAnEmptySideIsSkippedWithAReason) {
  Group group;
  group.add(StreamMode::none, {9, 9}).status = Status::fail;
  group.add(StreamMode::aux, {1, 2});
  const auto records = relate("g", group.outcomes);
  const RelationRecord* record = find(records, "none=aux");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->status, Status::skipped);
  EXPECT_TRUE(record->skip_reason);
}

TEST(Relate, AGroupThatDoesNotVaryTheAxisHasNoSuchRelation) {
  Group group;
  group.add(StreamMode::none, {1, 2});
  EXPECT_TRUE(relate("g", group.outcomes).empty());
}

TEST(Relate, ChunksAndSchedulesAreComparedWithTheirOwnBaseline) {
  Group group;
  group.add(StreamMode::none, {1, 2});
  group.add(StreamMode::none, {1, 3}, /*chunk=*/1);
  group.add(StreamMode::aux, {1, 2});
  group.add(StreamMode::aux, {1, 2}, 0, SchedulePolicy::reverse);
  const auto records = relate("g", group.outcomes);
  EXPECT_EQ(find(records, "whole=chunked")->status, Status::fail);
  EXPECT_EQ(find(records, "submission=any schedule")->status, Status::pass);
}

/// A group of a plain batch and one variation of it.
Group varied(Variation variation, std::vector<double> plain, std::vector<double> other) {
  Group group;
  const auto tokens = static_cast<std::int64_t>(plain.size()) / 2;
  group.add(StreamMode::none, std::move(plain));
  Case& spec = *const_cast<Case*>(group.add(StreamMode::none, std::move(other)).spec);
  spec.variation = variation;
  spec.tokens = tokens;
  return group;
}

Status status_of(const Group& group, const std::string& relation) {
  const auto records = relate("g", group.outcomes);
  const RelationRecord* record = find(records, relation);
  return record == nullptr ? Status::error : record->status;
}

TEST(Relate, PermutedTokensAreComparedWithThemselves) {
  Case spec;
  spec.tokens = 3;
  const std::vector<double> plain{1, 2, 3, 4, 5, 6};
  std::vector<double> moved;
  for (const std::int64_t t : permutation(spec)) {
    moved.push_back(plain[static_cast<std::size_t>(2 * t)]);
    moved.push_back(plain[static_cast<std::size_t>(2 * t + 1)]);
  }
  EXPECT_EQ(status_of(varied(Variation::permuted, plain, moved), "tokens=permuted"), Status::pass);
  EXPECT_EQ(status_of(varied(Variation::permuted, plain, plain), "tokens=permuted"), Status::fail);
}

TEST(Relate, AHalfAndAPaddedBatchAreComparedWhereTheyOverlap) {
  EXPECT_EQ(status_of(varied(Variation::split, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4}), "batch=half"), Status::pass);
  EXPECT_EQ(status_of(varied(Variation::split, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 9}), "batch=half"), Status::fail);
  EXPECT_EQ(status_of(varied(Variation::split, {1, 2, 3, 4, 5, 6}, {1, 2}), "batch=half"), Status::fail);
  const double nan = std::nan("");
  EXPECT_EQ(status_of(varied(Variation::padded_nan, {1, 2}, {1, 2, nan, nan, nan, nan, nan, nan}), "batch=padded"),
            Status::pass);
  EXPECT_EQ(status_of(varied(Variation::padded_nan, {1, 2}, {1, 3, nan, nan, nan, nan, nan, nan}), "batch=padded"),
            Status::fail);
}

TEST(Relate, ShiftedLogitsMayTurnAFewNearTies) {
  Group group = varied(Variation::shifted, {1, 2, 3, 4}, {1.2, 2, 30, 40});
  group.outcomes[0].choices = {0, 1};
  group.outcomes[1].choices = {0, 2};
  EXPECT_EQ(status_of(group, "logits~shifted"), Status::pass);
  group.outcomes[1].choices = {0, 1};
  EXPECT_EQ(status_of(group, "logits~shifted"), Status::fail) << "the same experts gave 30";
}

TEST(Relate, AlgebraKnowsNoBounds) {
  Group group;
  group.add(StreamMode::none, {1, 2});
  group.add(StreamMode::fused, {1, 2.1});
  EXPECT_EQ(status_of(group, "unfused~fused"), Status::pass);
  for (Outcome& outcome : group.outcomes) const_cast<Case*>(outcome.spec)->arithmetic = Arithmetic::field;
  EXPECT_EQ(status_of(group, "unfused~fused"), Status::fail);
}

TEST(Relate, OneScaleForTheWholeBatchExemptsFromChunks) {
  Group group;
  group.add(StreamMode::none, {1, 2});
  group.add(StreamMode::none, {1, 3}, /*chunk=*/1);
  for (Outcome& outcome : group.outcomes) const_cast<Case*>(outcome.spec)->quant.scheme = QuantScheme::fp8_tensor;
  EXPECT_EQ(status_of(group, "whole=chunked"), Status::error) << "no such relation";
}

TEST(Relate, ScalesThatSpanSeveralExpertsExemptFusedOnes) {
  Group group;
  group.add(StreamMode::none, {1, 2});
  group.add(StreamMode::fused, {1, 3});
  const auto under = [&](QuantScheme scheme, std::int64_t shared) {
    for (Outcome& outcome : group.outcomes) {
      const_cast<Case*>(outcome.spec)->quant.scheme = scheme;
      const_cast<Case*>(outcome.spec)->shape.n_shared = shared;
    }
    return status_of(group, "unfused~fused");
  };
  EXPECT_EQ(under(QuantScheme::none, 3), Status::fail);
  EXPECT_EQ(under(QuantScheme::fp8_channel, 1), Status::fail);
  EXPECT_EQ(under(QuantScheme::fp8_channel, 3), Status::error) << "no such relation";
  EXPECT_EQ(under(QuantScheme::fp8_tensor, 1), Status::error) << "no such relation";
}

TEST(Relate, AVariationWithoutItsPlainBatchIsSkippedWithTheReason) {
  Group group = varied(Variation::permuted, {1, 2}, {1, 2});
  group.outcomes.erase(group.outcomes.begin());
  const auto records = relate("g", group.outcomes);
  ASSERT_NE(find(records, "tokens=permuted"), nullptr);
  EXPECT_EQ(find(records, "tokens=permuted")->status, Status::skipped);
  EXPECT_EQ(find(records, "batch=half"), nullptr);
}

TEST(Relate, ASecondRunGivesTheSameBits) {
  Group group;
  group.add(StreamMode::none, {1, 2}).again = {1, 2};
  EXPECT_EQ(status_of(group, "run=run again"), Status::pass);
  group.outcomes[0].again = {1, 2.0000001};
  EXPECT_EQ(status_of(group, "run=run again"), Status::fail);
}

TEST(Relate, TheReferenceIsHeldAgainstTheCapture) {
  Group group;
  group.add(StreamMode::none, {1, 2}).captured = {1, 2 + 1e-11};
  EXPECT_EQ(find(relate("g", group.outcomes), "reference=capture")->status, Status::pass);
  group.outcomes[0].captured = {1, 2 + 1e-8};
  EXPECT_EQ(find(relate("g", group.outcomes), "reference=capture")->status, Status::fail);
  group.outcomes[0].captured = {0, 0};
  EXPECT_EQ(find(relate("g", group.outcomes), "reference=capture")->status, Status::inconclusive);
}

}  // namespace
}  // namespace moediff
