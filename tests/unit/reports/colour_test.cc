#include "reports/colour.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "reports/console.h"
#include "tests/unit/reports/sample_report.h"

namespace moediff {
namespace {

TEST(Colour, PaintsOnlyWhenAsked) {
  EXPECT_EQ(paint("x", Ink::red, true), "\033[31mx\033[0m");
  EXPECT_EQ(paint("x", Ink::red, false), "x");
}

TEST(Colour, AFileIsNotATerminal) {
  std::FILE* file = std::tmpfile();
  EXPECT_FALSE(use_colour(file));
  std::fclose(file);
}

TEST(Colour, ATerminalGetsColourUnlessNoColorIsSet) {
  std::FILE* terminal = std::fopen("/dev/ptmx", "r+");
  if (terminal == nullptr) GTEST_SKIP() << "no pseudo terminal here";
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(use_colour(terminal));
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(use_colour(terminal)) << "empty counts as unset";
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(use_colour(terminal));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(use_colour(terminal));
  std::fclose(terminal);
}

TEST(Colour, ColourChangesNoWord) {
  const std::string plain = render_failures(sample_report(), false);
  std::string painted = render_failures(sample_report(), true);
  EXPECT_NE(painted, plain);
  for (std::size_t at = painted.find('\033'); at != std::string::npos; at = painted.find('\033')) {
    painted.erase(at, painted.find('m', at) - at + 1);
  }
  EXPECT_EQ(painted, plain);
}

}  // namespace
}  // namespace moediff
