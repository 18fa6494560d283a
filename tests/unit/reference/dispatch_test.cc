// dispatch: a stable counting sort.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/api.h"

namespace moediff::reference {
namespace {

using testing::ElementsAre;

TEST(Dispatch, SortsSlotsByExpertAndKeepsTheirOrderWithinOne) {
  const std::vector<std::int32_t> ids{2, 0, 2, 3, 0, 2};
  const Dispatch out = dispatch(ids, 5);
  EXPECT_THAT(out.offsets, ElementsAre(0, 2, 2, 5, 6, 6));  // experts 1 and 4 have no rows
  EXPECT_THAT(out.slots, ElementsAre(1, 4, 0, 2, 5, 3));
  EXPECT_THAT(out.rows, ElementsAre(2, 0, 3, 5, 1, 4));  // the inverse of slots
}

TEST(Dispatch, OfNothingHasOnlyZeroOffsets) {
  const Dispatch out = dispatch({}, 2);
  EXPECT_THAT(out.offsets, ElementsAre(0, 0, 0));
  EXPECT_TRUE(out.slots.empty());
}

TEST(Dispatch, RefusesExpertsThatDoNotExist) {
  EXPECT_THROW(dispatch(std::vector<std::int32_t>{2}, 2), std::logic_error);
  EXPECT_THROW(dispatch(std::vector<std::int32_t>{-1}, 2), std::logic_error);
}

}  // namespace
}  // namespace moediff::reference
