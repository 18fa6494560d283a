#include "harness/scenario/schedule.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

TEST(Schedule, TextAndValueAreTheSame) {
  const std::vector<std::pair<std::string, Schedule>> all{
      {"submission", {SchedulePolicy::submission, 0, {}, true}},
      {"reverse", {SchedulePolicy::reverse, 0, {}, true}},
      {"random:18446744073709551615", {SchedulePolicy::random, 18446744073709551615ull, {}, true}},
      {"given:2,0,1", {SchedulePolicy::given, 0, {2, 0, 1}, true}},
      {"threads", {SchedulePolicy::threads, 0, {}, true}},
  };
  for (const auto& [text, schedule] : all) {
    EXPECT_EQ(to_string(schedule), text);
    EXPECT_EQ(parse_schedule(text), schedule);
  }
}

TEST(Schedule, WhatNamesNoneIsRefused) {
  for (const char* text : {"", "backwards", "random", "random:", "random:x", "random:-1", "random:1 ", "reverse:1",
                           "given", "given:", "given:1,", "given:1,-2", "threads:2"}) {
    EXPECT_EQ(parse_schedule(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace moediff
