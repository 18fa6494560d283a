// Architecture §7: a file includes only from its own layer or one to the left, and by the named edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "tests/repo/files.h"

namespace moediff::repo {
namespace {

constexpr std::array kLayers{"core",        "model", "scenario", "program",  "run",    "compare",
                             "order",       "judge", "relate",   "diagnose", "replay", "conformance",
                             "sensitivity", "store", "reports",  "cli",      "main"};

// "harness/order/clocks.cc" -> "order"; the reports folder is a layer too; harness/main.cc is "main".
std::string layer_of(const std::string& path) {
  if (path.rfind("reports/", 0) == 0) return "reports";
  if (path == "harness/main.cc") return "main";
  if (path.rfind("harness/", 0) != 0) return path.substr(0, path.find('/'));
  const std::string rest = path.substr(8);
  return rest.substr(0, rest.find('/'));
}

int rank(const std::string& layer) {
  const auto found = std::find(kLayers.begin(), kLayers.end(), layer);
  return found == kLayers.end() ? -1 : static_cast<int>(found - kLayers.begin());
}

// The ABI for those who call providers; the reference's headers for those who compare; names and enums (no numeric
// code) for the reference.
bool is_named_edge(const std::string& from, const std::string& to) {
  static const std::set<std::string> published{"reference/algebra.h", "reference/api.h",       "reference/attention.h",
                                               "reference/decoder.h", "reference/embedding.h", "reference/eplb.h",
                                               "reference/formats.h", "reference/rope.h"};
  const bool public_reference = published.count(to) > 0;
  if (from == "run") return to == "kernels/abi/moediff_abi.h";
  if (from == "compare" || from == "diagnose" || from == "replay" || from == "conformance" || from == "sensitivity")
    return public_reference;
  if (from == "reference") return to == "harness/core/dtype.h" || to.rfind("harness/model/", 0) == 0;
  return false;
}

// Why `from` may not include `to`; nothing when it may.
std::optional<std::string> forbidden(const std::string& from, const std::string& to) {
  const std::string here = layer_of(from), there = layer_of(to);
  if (here == there || is_named_edge(here, to)) return std::nullopt;
  if (rank(here) >= 0 && rank(there) >= 0 && rank(there) < rank(here)) return std::nullopt;
  return from + " (" + here + ") includes " + to + " (" + there + ")";
}

std::optional<std::string> quoted_include(const std::string& line) {
  if (line.rfind("#include \"", 0) != 0) return std::nullopt;
  return line.substr(10, line.find('"', 10) - 10);
}

TEST(Layers, EveryIncludePointsToTheLeftOrAlongANamedEdge) {
  int checked = 0;
  for (const std::string& path : files({"harness", "reports", "reference", "kernels"}, {".h", ".cc", ".hip"})) {
    for (const std::string& line : lines(read(path))) {
      const auto target = quoted_include(line);
      if (!target || target->rfind("hip/", 0) == 0) continue;  // HIP's own headers, which hiphost brings
      ++checked;
      EXPECT_EQ(forbidden(path, *target).value_or(""), "");
    }
  }
  EXPECT_GT(checked, 200);
}

TEST(Layers, TheRuleItselfForbidsWhatItShould) {
  EXPECT_TRUE(forbidden("harness/order/order.cc", "harness/judge/judge.h"));
  EXPECT_TRUE(forbidden("reference/router.cc", "harness/core/formats.h"));
  EXPECT_TRUE(forbidden("kernels/gemm/gemm.hip", "reference/api.h"));
  EXPECT_TRUE(forbidden("harness/compare/stage.cc", "reference/scales.h"));
  EXPECT_TRUE(forbidden("reference/router.cc", "harness/program/program.h"));
  EXPECT_TRUE(forbidden("harness/judge/judge.cc", "reference/api.h"));
  EXPECT_FALSE(forbidden("harness/judge/judge.cc", "harness/order/order.h"));
  EXPECT_FALSE(forbidden("harness/run/module.cc", "kernels/abi/moediff_abi.h"));
}

TEST(Layers, TheJudgingSideNeverSeesFaultsOrExpectations) {
  for (const std::string& path : files({"harness/order", "harness/judge", "harness/compare"}, {".h", ".cc"})) {
    const std::string text = read(path);
    EXPECT_EQ(text.find("fault_table.h"), std::string::npos) << path;
    EXPECT_EQ(text.find("scenario/case.h"), std::string::npos) << path;
  }
}

TEST(Layers, HeavyLibrariesStayWhereTheyBelong) {
  const std::vector<std::pair<std::string, std::string>> homes{
      {"<Eigen/", "reference/"}, {"<yaml-cpp/", "harness/scenario/"}, {"<hip/", "kernels/"}};
  for (const std::string& path : files({"harness", "reports", "reference", "kernels"}, {".h", ".cc", ".hip"})) {
    for (const auto& [library, home] : homes) {
      if (path.rfind(home, 0) == 0) continue;
      EXPECT_EQ(read(path).find("#include " + library), std::string::npos) << path << " includes " << library;
    }
  }
}

}  // namespace
}  // namespace moediff::repo
