// The documented rules.
#include "harness/replay/rules.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "harness/replay/kinds.h"

namespace moediff {
namespace {

ExpectedTensor of(const char* oracle, const char* precision) { return {"t", oracle, precision, "final"}; }

/// The row that a file of `kind` is judged by.
const RuleRow& row_for(std::string_view kind, const char* oracle, const char* precision) {
  for (const RuleRow& row : kRules) {
    const std::string name = oracle;
    const bool ends = name.size() >= row.oracle.size() && name.substr(name.size() - row.oracle.size()) == row.oracle;
    if ((row.kind.empty() || row.kind == kind) && row.precision == precision && ends) return row;
  }
  throw std::logic_error("no row");
}

TEST(Rules, AreThoseThatTheOraclesStateForTheirKinds) {
  EXPECT_EQ(row_for("dsv3_moe", "hf", "f64").rule.limit, 1e-12);
  EXPECT_EQ(row_for("llama4_moe", "anybody", "f32").rule.limit, 4e-6);
  EXPECT_EQ(row_for("fp8_block_gemm", "ds", "f32").rule.limit, 2e-6);
  EXPECT_EQ(row_for("fp8_block_gemm", "ds", "bf16").rule.measure, Measure::steps);
  EXPECT_EQ(row_for("fp8_block_moe", "vllm", "f32").rule.limit, 2e-3);
  EXPECT_EQ(row_for("fp8_block_moe", "vllm", "bf16").rule.limit, 1e-2);
  EXPECT_EQ(row_for("fp8_ds_moe", "ds.w8a16", "f32").rule.limit, 1e-5);
  EXPECT_EQ(row_for("fp8_ds_moe", "ds.w8a8_ue8m0", "f32").rule.limit, 2e-3);
  EXPECT_EQ(row_for("fp8_ds_moe", "ds.w8a8", "bf16").rule.limit, 2e-2);
}

TEST(Rules, ThereIsNoneForAPrecisionThatNobodyDocumented) {
  EXPECT_TRUE(has_rule("dsv3_moe", of("hf", "f64")));
  EXPECT_FALSE(has_rule("dsv3_moe", of("hf", "bf16")));
  EXPECT_FALSE(has_rule("dsv3_moe", of("hf", "i32")));
}

TEST(Kinds, AreAllDescribedInTheReadme) {
  std::ifstream file(MOEDIFF_SOURCE_DIR "/scenarios/README.md");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string format = text.str().substr(text.str().find("## Files to replay"));
  for (const KindRow& kind : kReplayKinds) {
    EXPECT_NE(format.find("| " + std::string(kind.name) + " |"), std::string::npos) << kind.name;
    EXPECT_FALSE(kind.checks.empty());
    EXPECT_FALSE(kind.rule.empty());
  }
}

TEST(Rules, EveryRowIsOfAKindAndCanFail) {
  for (const RuleRow& row : kRules) {
    bool known = row.kind.empty();
    for (const KindRow& kind : kReplayKinds) known = known || kind.name == row.kind;
    EXPECT_TRUE(known) << row.kind;
    EXPECT_TRUE(row.rule.limit <= kLargestTolerance || row.rule.measure == Measure::steps) << row.kind;
  }
}

}  // namespace
}  // namespace moediff
