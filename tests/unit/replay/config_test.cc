// The configuration of a file, which nobody has checked before.
#include "harness/replay/config.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

std::string told(const Mistakes& mistakes) {
  try {
    mistakes.throw_if_any();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Config, TheJsonObjectGoesBeforeSingleEntries) {
  Mistakes mistakes("file");
  const ReplayConfig config({{"config", R"({"a": 3, "name": "softmax"})"}, {"cfg.a", "4"}, {"cfg.b", "5"}}, mistakes);
  EXPECT_EQ(config.integer({"a"}, 0, 9), 3);
  EXPECT_EQ(config.integer({"b"}, 0, 9), 5);
  EXPECT_EQ(config.text({"name"}, ""), "softmax");
  EXPECT_EQ(told(mistakes), "");
}

TEST(Config, TheFirstNamePresentCountsAndNullIsAbsent) {
  Mistakes mistakes("file");
  const ReplayConfig config({{"config", R"({"x": null, "y": 2})"}}, mistakes);
  EXPECT_EQ(config.integer({"x", "y"}, 0, 9), 2);
  EXPECT_EQ(config.integer({"z"}, 0, 9, 7), 7);
  EXPECT_EQ(told(mistakes), "");
}

TEST(Config, ValuesOutOfRangeOrOfAnotherTypeAreMistakesAndGiveAValueInRange) {
  Mistakes mistakes("file");
  const ReplayConfig config({{"config", R"({"big": 10, "small": 0, "text": "x", "half": 1.5, "list": [1]})"}},
                            mistakes);
  EXPECT_EQ(config.integer({"big"}, 1, 9), 1);
  EXPECT_EQ(config.integer({"small"}, 1, 9), 1);
  EXPECT_EQ(config.integer({"text"}, 1, 9), 1);
  EXPECT_EQ(config.integer({"half"}, 1, 9), 1);
  EXPECT_EQ(config.boolean({"list"}, true), true);
  EXPECT_EQ(config.real({"text"}, 0, 1, 0.5), 0.5);
  const std::string text = told(mistakes);
  for (const char* name : {"'big'", "'small'", "'text'", "'half'", "'list'"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name << " not in " << text;
  }
}

TEST(Config, BlocksAreReadInBothSpellings) {
  Mistakes mistakes("file");
  const ReplayConfig config({{"config", R"({"a": "128x64", "b": [32, 32], "c": [1], "d": "0x4"})"}}, mistakes);
  EXPECT_EQ(config.pair({"a"}, 1, 256, 1), (std::vector<std::int64_t>{128, 64}));
  EXPECT_EQ(config.pair({"b"}, 1, 256, 1), (std::vector<std::int64_t>{32, 32}));
  EXPECT_EQ(config.pair({"none"}, 1, 256, 16), (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(told(mistakes), "");
  config.pair({"c"}, 1, 256, 1);
  config.pair({"d"}, 1, 256, 1);
  EXPECT_NE(told(mistakes).find("'c'"), std::string::npos);
  EXPECT_NE(told(mistakes).find("'d'"), std::string::npos);
}

TEST(Config, MistakesAreKeptShortAndFew) {
  Mistakes mistakes("file");
  for (int i = 0; i < 100; ++i) mistakes.add(std::string(1000, 'x'), "rule", "remedy");
  EXPECT_LT(told(mistakes).size(), 20u * 200u);
}

}  // namespace
}  // namespace moediff
