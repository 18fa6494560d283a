#include "reports/safe_text.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

TEST(SafeText, KeepsPlainTextAndUtf8) {
  EXPECT_EQ(safe_text("a\tb\nc \xC3\xA4 \xE2\x89\x88 \xF0\x9F\x98\x80"),
            "a\tb\nc \xC3\xA4 \xE2\x89\x88 \xF0\x9F\x98\x80");
}

TEST(SafeText, DropsControlCharacters) {
  EXPECT_EQ(safe_text("a\x1b[31mb\r\x07"), "a[31mb");
  EXPECT_EQ(safe_text(std::string_view("a\0b", 3)), "ab");
  EXPECT_EQ(safe_text("\x7F\xC2\x9B"), "") << "C1 controls start escape sequences too";
}

TEST(SafeText, ReplacesEveryBrokenByte) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(safe_text("x\xFFy"), "x" + mark + "y");
  EXPECT_EQ(safe_text("\xC3"), mark) << "cut off";
  EXPECT_EQ(safe_text("\xC0\xAF"), mark + mark) << "overlong";
  EXPECT_EQ(safe_text("\xED\xA0\x80"), mark + mark + mark) << "surrogate";
}

TEST(XmlText, EscapesTheFiveCharacters) { EXPECT_EQ(xml_text("<a & \"b\">'"), "&lt;a &amp; &quot;b&quot;&gt;&apos;"); }

}  // namespace
}  // namespace moediff
