// How a user's mistake is written down.
#include "harness/core/error.h"

#include <gtest/gtest.h>

#include "harness/core/check.h"

namespace moediff {
namespace {

TEST(Error, NamesPlaceValueRuleAndRemedyInOneLine) {
  const Error error{{"a.yaml", 3, 7}, "9", "top_k must not exceed experts (8)", "use a value from 1 to 8"};
  EXPECT_EQ(to_string(error),
            "a.yaml:3:7: error: found '9': top_k must not exceed experts (8); use a value from 1 to 8");
}

TEST(Error, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(to_string(Error{{"a.bin"}, "", "the file must be readable", ""}),
            "a.bin: error: the file must be readable");
}

TEST(UserError, PrintsAllItsErrorsOneALine) {
  const UserError error({Error{{"a"}, "", "first", ""}, Error{{"b"}, "", "second", ""}});
  EXPECT_STREQ(error.what(), "a: error: first\nb: error: second");
  EXPECT_EQ(error.errors().size(), 2u);
}

TEST(CheckDeathTest, NamesTheConditionAndSaysWhoseBugItIs) {
  EXPECT_DEATH(CHECK(1 + 1 == 3, "sums must be right"),
               "CHECK failed: 1 \\+ 1 == 3 \\(sums must be right\\)\n.*bug in moediff");
}

}  // namespace
}  // namespace moediff
