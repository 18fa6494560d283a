// Nearest words, globs, joining, short numbers.
#include "harness/core/text.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

const std::vector<std::string> kKeys{"hidden", "inter", "experts", "top_k"};

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("hiden", kKeys), "hidden");
  EXPECT_EQ(nearest("ihdden", kKeys), "hidden");  // neighbours swapped
  EXPECT_EQ(nearest("topk", kKeys), "top_k");
  EXPECT_EQ(nearest("inter", kKeys), "inter");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("routing", kKeys), "");
  EXPECT_EQ(nearest("x", kKeys), "");
  EXPECT_EQ(nearest("hidden", std::vector<std::string>{}), "");
}

TEST(Nearest, AllowsOneEditAndOneMoreForEveryThreeLetters) {
  EXPECT_EQ(nearest("abxxx", std::vector<std::string>{"ab"}), "");       // 3 edits, 2 allowed
  EXPECT_EQ(nearest("abcxxx", std::vector<std::string>{"abc"}), "abc");  // 3 edits, 3 allowed
}

TEST(Nearest, CountsASwapOfNeighboursAsOneEdit) {
  EXPECT_EQ(nearest("badc", std::vector<std::string>{"abcd"}),
            "abcd");  // 2 swaps; as substitutions 4, beyond the limit
}

struct GlobCase {
  const char* pattern;
  const char* text;
  bool matches;
};
class GlobMatch : public testing::TestWithParam<GlobCase> {};

TEST_P(GlobMatch, FollowsTheShell) {
  EXPECT_EQ(glob_match(GetParam().pattern, GetParam().text), GetParam().matches)
      << GetParam().pattern << " on " << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, GlobMatch,
    testing::Values(GlobCase{"*", "", true}, GlobCase{"", "", true}, GlobCase{"", "a", false},
                    GlobCase{"a*c", "abbc", true}, GlobCase{"a*c", "abcd", false},
                    GlobCase{"smoke*", "smoke/case/1", true},  // '*' crosses '/'
                    GlobCase{"*ab*b", "aabbab", true}, GlobCase{"*ab", "abab", true}, GlobCase{"?", "", false},
                    GlobCase{"a?c", "abc", true}, GlobCase{"a?c", "ac", false}, GlobCase{"x[ab]y", "xby", true},
                    GlobCase{"x[ab]y", "xcy", false}, GlobCase{"[a-c]1", "b1", true}, GlobCase{"[a-c]1", "d1", false},
                    GlobCase{"[!a]", "b", true}, GlobCase{"[!a]", "a", false}, GlobCase{"[ab", "[ab", true},
                    GlobCase{"[]]", "]", true}, GlobCase{"*[0-9]", "top_k=8", true}, GlobCase{"T=1", "T=16", false}));

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
}

TEST(ShortNumber, KeepsAFewDigits) {
  EXPECT_EQ(short_number(0.0), "0");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(1.23456), "1.23");
  EXPECT_EQ(short_number(-1.5e-9), "-1.5e-09");
  EXPECT_EQ(short_number(123456.0, 2), "1.2e+05");
  EXPECT_EQ(short_number(17.0), "17");
}

}  // namespace
}  // namespace moediff
