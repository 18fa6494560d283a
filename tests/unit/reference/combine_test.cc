// combine: weighted sums over the slots of a token, worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/api.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;

const std::vector<double> kExpertOut{1, 2, 10, 20, 100, 200, 1000, 2000};  // four rows of two

TEST(Combine, AddsTheRowsOfATokensSlotsTimesTheirWeights) {
  const std::vector<std::int32_t> rows{3, 0, 1, 2};
  const std::vector<double> weights{1, 3, 2, -1};
  const Terms out = combine(kExpertOut, rows, weights, 2, 2, 2);
  EXPECT_THAT(out.value, ElementsAre(1003, 2006, 20 - 100, 40 - 200));
  EXPECT_THAT(out.sum_abs, ElementsAre(1003, 2006, 120, 240));
  EXPECT_EQ(out.steps, 2);
}

TEST(Combine, SquaresThePartialSumsInSlotOrder) {
  const std::vector<double> weights{2, -1};
  // 20, then 20 - 100: the other order would give 100, then 80.
  EXPECT_EQ(combine(kExpertOut, std::vector<std::int32_t>{1, 2}, weights, 1, 2, 2).sum_sq_partial[0], 400 + 6400);
}

TEST(Combine, AddsTheRowsThemselvesWithoutWeights) {
  const std::vector<std::int32_t> rows{3, 0, 1, 2};
  const Terms out = combine(kExpertOut, rows, {}, 2, 2, 2);
  EXPECT_THAT(out.value, ElementsAre(1001, 2002, 110, 220));
  EXPECT_EQ(out.sum_sq_partial[2], 100 + 110 * 110);
  EXPECT_THROW(combine(kExpertOut, rows, std::vector<double>(3), 2, 2, 2), std::logic_error);
}

TEST(Combine, RefusesRowsThatAreNotThere) {
  const std::vector<double> weights{1};
  EXPECT_THROW(combine(kExpertOut, std::vector<std::int32_t>{4}, weights, 1, 1, 2), std::logic_error);
  EXPECT_THROW(combine(kExpertOut, std::vector<std::int32_t>{-1}, weights, 1, 1, 2), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
