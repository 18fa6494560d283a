// Size is a tracked quantity (house style §0): a file that outgrows one screenful of ideas is two rooms.
#include <gtest/gtest.h>

#include "tests/repo/files.h"

namespace moediff::repo {
namespace {

TEST(Sizes, NoSourceFileHasMoreThan400Lines) {
  int checked = 0;
  for (const std::string& path :
       files({"harness", "reports", "reference", "kernels", "tests"}, {".h", ".cc", ".hip", ".js", ".css"})) {
    EXPECT_LE(lines(read(path)).size(), 400u) << path;
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

TEST(Sizes, TheTypicalSourceFileIsShort) {
  std::vector<std::size_t> sizes;
  for (const std::string& path : files({"harness", "reports", "reference", "kernels"}, {".h", ".cc", ".hip"}))
    sizes.push_back(lines(read(path)).size());
  std::sort(sizes.begin(), sizes.end());
  EXPECT_LE(sizes[sizes.size() / 2], 150u);
}

TEST(Sizes, EverySourceFileOpensByWhatItIs) {
  for (const std::string& path : files({"harness", "reports", "reference", "kernels"}, {".h"})) {
    const std::string first = read(path).substr(0, 2);
    EXPECT_TRUE(first == "//" || first == "/*") << path;
  }
}

}  // namespace
}  // namespace moediff::repo
