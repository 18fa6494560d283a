// Progress in a file: no terminal, so only plain lines, and few of them.
#include "reports/progress.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

/// Everything that `run` writes.
template <typename Run>
std::string written(Run run) {
  std::FILE* file = std::tmpfile();
  run(file);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  const std::size_t got = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  text.resize(got);
  return text;
}

TEST(ProgressText, EstimatesTheTimeLeftFromTheCasesDone) {
  EXPECT_EQ(progress_text(25, 100, 3, 1, 5.0), "[25/100] 3 caught, 1 unexpected, 5.0 s, about 15 s left");
}

TEST(ProgressText, MakesNoEstimateBeforeTheFirstCaseAndAfterTheLast) {
  EXPECT_EQ(progress_text(0, 4, 0, 0, 0.5), "[0/4] 0 caught, 0 unexpected, 0.5 s");
  EXPECT_EQ(progress_text(4, 4, 0, 0, 2.0), "[4/4] 0 caught, 0 unexpected, 2.0 s");
}

TEST(Progress, WritesAPlainLineEveryFiveSecondsToAFile) {
  double now = 100;
  const std::string text = written([&](std::FILE* file) {
    Progress progress(file, ProgressMode::automatic, 20, [&] { return now; });
    for (int i = 0; i < 12; ++i) {
      now += 1;
      progress.advance(i % 2 == 0, false);
    }
  });
  EXPECT_EQ(text,
            "[5/20] 3 caught, 0 unexpected, 5.0 s, about 15 s left\n"
            "[10/20] 5 caught, 0 unexpected, 10.0 s, about 10 s left\n");
}

TEST(Progress, ModeNoneIsSilent) {
  double now = 0;
  EXPECT_EQ(written([&](std::FILE* file) {
              Progress progress(file, ProgressMode::none, 2, [&] { return now; });
              now = 60;
              progress.advance(false, true);
              progress.clear();
            }),
            "");
}

TEST(ProgressMode, HasThreeWords) {
  EXPECT_EQ(parse_progress_mode("auto"), ProgressMode::automatic);
  EXPECT_EQ(parse_progress_mode("plain"), ProgressMode::plain);
  EXPECT_EQ(parse_progress_mode("none"), ProgressMode::none);
  EXPECT_EQ(parse_progress_mode("fancy"), std::nullopt);
}

}  // namespace
}  // namespace moediff
